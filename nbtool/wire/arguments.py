"""The arguments of a call: parse what a model wrote, and return what every provider accepts."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from nbtool.text import clean_text

_SPACE = re.compile(r"\s*+")
_EMPTY_STARTS: tuple[object, ...] = (None, "", {})
_REPETITION = re.compile(r"(?:\}|null|\"\")\s*+\{")

MAX_NESTING = 100
"""Maximum nesting depth of the arguments of a call."""


def parse_arguments(arguments: str) -> tuple[dict[str, Any] | None, str | None]:
    """Parse a call's arguments strictly: a JSON object, or an empty text for a call without arguments.

    Returns the arguments and None, or None and a one-line error. Some servers send `null` for no arguments; `NaN` and
    `Infinity` are not JSON (RFC 8259 section 6), and a number beyond the range of a float could not be sent back.
    """
    if not arguments.strip():
        return {}, None
    try:
        value = json.loads(arguments, parse_constant=_refuse_constant, parse_float=_parse_finite_float)
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are not JSON: {error}."
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return None, f"The arguments are a JSON {type(value).__name__}; expected an object."
    if _is_too_deep(value):
        return None, f"The arguments are nested deeper than {MAX_NESTING} levels."
    if "\\ud" in arguments.lower() and _has_lone_surrogates(value):
        return None, "The arguments contain a lone surrogate, which is not a valid character."
    return value, None


def single_object(arguments: str) -> str:
    """Return the arguments of a call without what a server sent of them twice, or encoded twice.

    Gateways pass the empty start of a content block on (`{}` before the object), and send all arguments once more at
    the end of their pieces; some servers send the text of an object as a JSON text. A text with two different objects
    is returned as it is.
    """
    if arguments.lstrip().startswith('"') and (text := _held_object(arguments)):
        return text
    if not _REPETITION.search(arguments):
        return arguments
    decoder, chosen, last, at = json.JSONDecoder(), "", None, _skip_space(arguments, 0)
    while at < len(arguments):
        try:
            value, end = decoder.raw_decode(arguments, at)
        except (ValueError, RecursionError):
            return arguments
        is_second = last not in _EMPTY_STARTS and arguments[at:end] != chosen
        if is_second or not (isinstance(value, dict) or value in _EMPTY_STARTS):
            return arguments
        chosen, last, at = arguments[at:end], value, _skip_space(arguments, end)
    return chosen


def _held_object(arguments: str) -> str:
    """Return the object with members that a JSON text holds; empty for any other text."""
    try:
        text = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    is_object = isinstance(text, str) and text.lstrip().startswith("{") and bool(parse_arguments(text)[0])
    return text if is_object else ""


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def arguments_text(value: object) -> str:
    """Return what a server sent as the arguments of a call as text: of anything but a text and `null` its JSON.

    A number, a list or a boolean is thus found to be no object, and not taken for a call without arguments.
    """
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def valid_arguments(arguments: object) -> str:
    """Return the arguments of a call in a form that every provider accepts: the text of a JSON object.

    Servers parse them with every request, and reject the whole conversation if one is invalid; the call's result says
    what was wrong with them.
    """
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    arguments = single_object(arguments) if isinstance(arguments, str) else ""
    args, _ = parse_arguments(arguments)
    return clean_text(arguments) if args else "{}"


def _has_lone_surrogates(value: Any) -> bool:
    """Whether a value that is not too deep contains a lone surrogate (RFC 8259 section 8.2), which has no encoding."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than `MAX_NESTING`; copying, encoding and rendering are recursive."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _parse_finite_float(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number[:20]} is out of range")
    return value
