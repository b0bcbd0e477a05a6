"""A call's arguments as a person reads them, on one line and in full; as in js/src/text/argumentLines.ts.

Both go by the tokens of the JSON, so that a number, a doubled key and an escape stay what the model wrote.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import NoReturn

from nbtool.blocks.reference_notation import name_references
from nbtool.blocks.sanitize import escape_invisible, one_line

LINE_LIMIT = 80
"""Characters of arguments on one line."""

INDENT_LIMIT = 100
"""Levels of JSON that are indented; of what lies deeper, the spaces would be most of the text."""

_SPACE = " \t\n\r"
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^ \t\n\r{}\[\],:"]+', re.DOTALL)
_PLAIN_KEY = re.compile(r'\A"([\w-]+)"\Z')


def short_arguments(arguments: str, limit: int = LINE_LIMIT) -> str:
    """Format a call's arguments on one line, as Python would write them; what is no JSON object is unchanged."""
    if not is_object(arguments):
        return one_line(arguments, limit)
    return one_line("".join(_line_parts(arguments)), limit)


def omitted_arguments(arguments: str, limit: int = LINE_LIMIT) -> int:
    """Return how many characters of a call's arguments are omitted on their one line."""
    if short_arguments(arguments, limit) == short_arguments(arguments, sys.maxsize // 8):
        return 0
    return max(0, len(" ".join(long_arguments(arguments).split())) - limit)


def long_arguments(arguments: str) -> str:
    """Format a call's arguments in full with nothing invisible in them; JSON is indented, and nothing of it changed."""
    return escape_invisible(_indent(arguments) if is_object(arguments) else arguments)


def is_object(arguments: str) -> bool:
    """Whether arguments are a JSON object that is not too deep; nothing at all is one."""
    if any(level > INDENT_LIMIT for _, level in _leveled_tokens(arguments)):
        return False
    text = arguments.strip(_SPACE) or "{}"
    try:
        return isinstance(json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _leveled_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens of JSON, each with the number of brackets around it."""
    level = 0
    for token in _TOKEN.findall(text):
        before = level
        if token in "{[":
            level += 1
        elif token in "}]":
            level -= 1
        yield token, min(before, level)


def _line_parts(text: str) -> list[str]:
    """Return the parts of one line: names without quotes, and values as they are written."""
    parts: list[str] = []
    for token, level in _leveled_tokens(text):
        if token == ":" and level == 1:
            parts[-1] = _PLAIN_KEY.sub(r"\1", parts[-1]) + "="
        elif token in ":,":
            parts.append(f"{token} ")
        elif level > 0:
            parts.append(name_references(token))
    return parts


def _indent(text: str) -> str:
    """Indent JSON by its tokens alone."""
    parts: list[str] = []
    before = ""
    for token, level in _leveled_tokens(text):
        is_opened, is_closed = before in ("{", "["), token in "}]"
        if is_opened != is_closed or before == ",":
            parts.append("\n" + "  " * level)
        parts.append(": " if token == ":" else token)
        before = token
    return "".join(parts)
