"""The arguments of a call: parse what a model wrote, and return what every provider accepts."""

from __future__ import annotations

import json
import re

from nbtool.call_arguments import parse_arguments
from nbtool.text import clean_text

_SPACE = re.compile(r"\s*+")
_EMPTY_STARTS: tuple[object, ...] = (None, "", {})
_REPETITION = re.compile(r"(?:\}|null|\"\")\s*+\{")


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
