"""The shapes in which models write a call as JSON, and the matching of names.

A record of a call (a shape with a result) and the definition of a tool are not calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.json_repair import parse_object, parse_values

NAME_KEYS = ("tool_name", "function_name", "name", "tool", "function")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input")
CALL_KEYS = ("function_call", "tool_call", "function", "tool", "call")
LIST_KEYS = ("tool_calls", "function_calls", "calls")
RECORD_KEYS = frozenset(
    {"response", "result", "results", "output", "observation", "tool_response", "tool_result", "function_response",
     "function_call_record", "function_call_result", "tool_call_record", "tool_call_result"}
)  # fmt: skip
SIDE_KEYS = frozenset(
    {"id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "description"}
)
"""Keys that a call may have beside its name and its arguments."""

_NAME = re.compile(r"[^\W\d][\w.:/ -]{0,127}\Z")
_SEPARATORS = re.compile(r"[-_.\s]+")
MAX_NESTING = 4
"""Wrappers around one call, `{"function_call": {"function_call": …}}`."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call that was found in text: its name as the model wrote it, its arguments, and what was repaired.

    One that `lacks_arguments` is only a name; it is accepted only if the tool is known.
    """

    name: str
    args: dict[str, Any]
    repairs: tuple[str, ...] = ()
    lacks_arguments: bool = False

    @property
    def all_repairs(self) -> tuple[str, ...]:
        """Return the names of the repairs."""
        return ("missing arguments", *self.repairs) if self.lacks_arguments else self.repairs


def parse_json_calls(text: str) -> tuple[ParsedCall, ...] | None:
    """Parse JSON values without marks as calls; None if one of them is not a call."""
    calls: list[ParsedCall] = []
    for value in parse_values(text):
        found = value and parse_call_value(value.value, is_delimited=False, repairs=value.repairs)
        if not found:
            return None
        calls += found
    return tuple(calls) or None


def parse_call_value(value: Any, *, is_delimited: bool, repairs: tuple[str, ...] = ()) -> list[ParsedCall] | None:
    """Parse a JSON value as calls; None if it, or a part of it, is not a call.

    `is_delimited`: the value was between marks that only calls have; then its wrapper may have any name and its
    arguments may be missing. Other keys next to name and arguments are refused.
    """
    return _parse_value(value, is_delimited, repairs, MAX_NESTING)


def _parse_value(value: Any, is_delimited: bool, repairs: tuple[str, ...], depth: int) -> list[ParsedCall] | None:
    if depth < 0:
        return None
    if isinstance(value, list):
        nested = [_parse_value(item, is_delimited, repairs, depth - 1) for item in value]
        return None if not nested or None in nested else [call for calls in nested for call in calls or ()]
    if not isinstance(value, dict) or RECORD_KEYS & value.keys():
        return None
    for key in LIST_KEYS:
        if isinstance(value.get(key), list):
            return _parse_value(value[key], True, repairs, depth - 1)
    return _parse_wrapped(value, is_delimited, repairs, depth) or _parse_call(value, is_delimited, repairs)


def _parse_wrapped(
    value: dict[str, Any], is_delimited: bool, repairs: tuple[str, ...], depth: int
) -> list[ParsedCall] | None:
    for key in CALL_KEYS:
        nested = value.get(key)
        if isinstance(nested, str) and key != "function" and nested.lstrip().startswith("{"):
            try:
                nested = parse_object(nested).value
            except InvalidArguments:
                return None
        if isinstance(nested, dict):
            return _parse_value(nested, True, repairs, depth - 1)
    key, nested = next(iter(value.items()), ("", None))
    if is_delimited and len(value) == 1 and key not in ARGUMENT_KEYS and isinstance(nested, dict):
        return _parse_value(nested, False, repairs, depth - 1)
    return None


def _parse_call(value: dict[str, Any], is_delimited: bool, repairs: tuple[str, ...]) -> list[ParsedCall] | None:
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    arguments_key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name_key is None or not _NAME.match(value[name_key].strip()):
        return None
    if (arguments_key is None and not is_delimited) or value.keys() - {name_key, arguments_key} - SIDE_KEYS:
        return None
    args, argument_repairs = _parse_arguments(value[arguments_key] if arguments_key else None)
    if args is None or is_schema(args):
        return None
    return [ParsedCall(value[name_key].strip(), args, (*repairs, *argument_repairs), lacks_arguments=not arguments_key)]


def _parse_arguments(value: Any) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    if isinstance(value, dict):
        return value, ()
    if value is None or value == "":
        return {}, ()
    if not isinstance(value, str):
        return None, ()
    try:
        parsed = parse_object(value)
    except InvalidArguments:
        return None, ()
    return parsed.value, parsed.repairs


def is_schema(args: dict[str, Any]) -> bool:
    """Whether arguments are the schema of a tool's parameters: its definition, and no call."""
    return args.get("type") in ("object", "dict") and (isinstance(args.get("properties"), dict) or len(args) == 1)


def match_tool_name(name_written: str, names: Iterable[str] | None) -> str | None:
    """Return the tool with this name, or the only one whose name differs in form only.

    The form is a `functions.` prefix, capitals, and the separators of words (`-`, `_`, `.`, blanks). Without `names`
    every name is accepted unchanged.
    """
    if names is None:
        return name_written
    available = set(names)
    if name_written in available:
        return name_written
    normalized = _normalize_name(name_written)
    matches = [name for name in available if _normalize_name(name) == normalized]
    return matches[0] if len(matches) == 1 else None


def match_tools(calls: Iterable[ParsedCall], names: Iterable[str] | None) -> list[ParsedCall]:
    """Return the calls with the names of their tools; None if one of them matches no tool.

    A call without arguments is accepted only if `names` contains its tool.
    """
    matched: list[ParsedCall] = []
    for call in calls:
        name = match_tool_name(call.name, names)
        if name is None or (names is None and call.lacks_arguments):
            return []
        spelling = () if name == call.name else ("name",)
        matched.append(ParsedCall(name, call.args, tuple(dict.fromkeys((*call.all_repairs, *spelling)))))
    return matched


def _normalize_name(name: str) -> str:
    return _SEPARATORS.sub("_", name.removeprefix("functions.")).casefold()
