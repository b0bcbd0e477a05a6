"""Find the JSON values in an answer, and what is wrong with those that are none.

A model writes sentences around its JSON, code fences, and a comma after the last item. Whatever can be read in one way
only is read; anything else is named, so that the model can be asked for it: a cut, two values, where the syntax ends.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from nbtool.text import shorten

NO_JSON = "it contains no JSON"
CUT_OFF = "its JSON ends before it is complete"
TOO_DEEP = "its JSON is nested too deeply"
TOO_MANY = "it contains more than {count} pieces of invalid JSON"

MAX_NUMBER = 20
"""Maximum number of characters of a number that a problem shows."""

MAX_INVALID = 100
"""Maximum number of invalid pieces of JSON in one answer, after which no more of it is read."""

_FENCE = re.compile(r"```\w*+[^\S\n]*+\n(.*?)```", re.DOTALL)
_JSON_START = re.compile(r"""[{\[]\s*+(?:["'\[{}\],\d-]|[A-Za-z_][\w-]*+\s*+[:,}\]])""")
"""A bracket with which JSON begins, or what was meant as JSON; not one of a sentence."""

_CUT_WORD = re.compile(r"[\w.+-]*+\s*+")
"""What is left behind an error where a text was cut off: nothing, or the beginning of a word or a number."""

_UNTERMINATED = ("Unterminated string starting at", "Invalid \\uXXXX escape")
_OBJECT_START = re.compile(r'\{\s*+"')
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{,:]\s*+,)|,(?=\s*+[}\]])', re.DOTALL)


@dataclass(slots=True)
class AnswerValues:
    """The JSON values of an answer, each once, and the problem of the first text that is none."""

    values: list[Any] = field(default_factory=list)
    problem: str = ""
    invalid: int = 0

    def add(self, value: Any) -> None:
        """Add a value, unless it is there already."""
        if not any(type(value) is type(other) and value == other for other in self.values):
            self.values.append(value)

    def report(self, problem: str) -> None:
        """Record the problem of a piece, unless there is one."""
        self.problem = self.problem or problem


class _NoNumber(ValueError):
    """A number that JSON does not have."""


def find_values(text: str) -> AnswerValues:
    """Return the JSON values of an answer: the whole text, or what is in code fences and brackets."""
    found = AnswerValues()
    try:
        found.add(_decode(text.strip(), 0)[0])
    except _NoNumber as error:
        found.report(str(error))
    except (ValueError, RecursionError):
        pass
    else:
        return found
    at = 0
    for fence in _FENCE.finditer(text):
        _scan(text[at : fence.start()], found)
        try:
            found.add(_decode(fence[1].strip(), 0)[0])
        except (ValueError, RecursionError):
            _scan(fence[1], found)
        at = fence.end()
    _scan(text[at:], found)
    found.report(NO_JSON)
    return found


def _scan(text: str, found: AnswerValues) -> None:
    """Add the values in the brackets of a text; those inside of what is no JSON are none."""
    at = 0
    ends: dict[int, int] = {}
    while start := _JSON_START.search(text, at):
        if found.invalid > MAX_INVALID:
            found.values, found.problem = [], TOO_MANY.format(count=MAX_INVALID)
            return
        at = start.start()
        try:
            value, at = _decode(text, at, is_whole=False)
            found.add(value)
        except RecursionError:
            found.report(TOO_DEEP)
            return
        except ValueError as error:
            found.invalid += 1
            position = error.pos if isinstance(error, json.JSONDecodeError) else at
            at = _read_loosely(text, at, position, _describe(error), found, ends)
            if at < 0:
                return


def _read_loosely(text: str, start: int, error_at: int, problem: str, found: AnswerValues, ends: dict[int, int]) -> int:
    """Read JSON with commas after the last items, or report its problem; return where to go on, or -1 for nowhere."""
    end = _find_end(text, start, ends)
    if end >= 0:
        try:
            found.add(_decode(_TRAILING_COMMA.sub(r"\1", text[start:end]), 0)[0])
        except (ValueError, RecursionError):
            found.report(problem)
        return end
    if problem.endswith(_UNTERMINATED) or _CUT_WORD.fullmatch(text, error_at):
        found.report(CUT_OFF)
        return -1
    found.report(problem)
    return -1 if _OBJECT_START.match(text, start) else max(error_at, start + 1)  # else a sentence: [0, 1), {see: …


def _decode(text: str, at: int, *, is_whole: bool = True) -> tuple[Any, int]:
    """Return the JSON value at a position, and where it ends.

    Raises:
        ValueError: there is none; or, if it `is_whole`, there is something behind it.
    """
    value, end = _DECODER.raw_decode(text, at)
    if is_whole and end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value, end


def _refuse(constant: str) -> Any:
    raise _NoNumber(f"{constant} is no number of JSON")


def _parse_float(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise _NoNumber(f"{shorten(number, MAX_NUMBER)} is out of the range of numbers")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_parse_float)


def _describe(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"its JSON is invalid at line {error.lineno}, column {error.colno}: {error.msg}"
    return str(error)


def _find_end(text: str, start: int, ends: dict[int, int]) -> int:
    """Return the position behind the bracket that closes the one at `start`; -1 if none does.

    One pass notes the `ends` of all brackets on its way, so that a text of many open ones is read once, not from each.
    """
    if start in ends:
        return ends[start]
    opened: list[tuple[int, str]] = []
    for match in _STRING_OR_BRACKET.finditer(text, start):
        mark = match[0]
        if mark in ("{", "["):
            opened.append((match.start(), "}" if mark == "{" else "]"))
        elif mark in ("}", "]"):
            if opened[-1][1] != mark:
                break
            ends[opened.pop()[0]] = match.end()
            if not opened:
                break
    ends.update((at, -1) for at, _ in opened)
    return ends[start]
