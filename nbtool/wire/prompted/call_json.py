"""The shapes in which models write a call as JSON, and the names they may mean.

A record of a call (a shape that carries a result) and the definition of a tool are no calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.json_repair import parse_object

NAME_KEYS = ("tool_name", "function_name", "name", "tool", "function")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input")
CALL_KEYS = ("function_call", "tool_call", "function", "tool", "call")
LIST_KEYS = ("tool_calls", "function_calls", "calls")
RECORD_KEYS = frozenset(
    {"response", "result", "results", "output", "observation", "tool_response", "tool_result", "function_response",
     "function_call_record", "function_call_result", "tool_call_record", "tool_call_result"}
)  # fmt: skip
_SIDE_KEYS = frozenset(
    {"id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "description"}
)
_NAME = re.compile(r"[^\W\d][\w.:/ -]{0,127}\Z")
_SEPARATORS = re.compile(r"[-_.\s]+")
MAX_WRAPPINGS = 4
"""Wrappers around one call, `{"function_call": {"function_call": …}}`."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call that was found in text: its name as the model wrote it, its arguments, and what was mended.

    One that `lacks_arguments` names a tool and nothing else; it is believed only where the tool is known.
    """

    name: str
    args: dict[str, Any]
    repairs: tuple[str, ...] = ()
    lacks_arguments: bool = False

    @property
    def mended(self) -> tuple[str, ...]:
        """What was mended, in words."""
        return ("missing arguments", *self.repairs) if self.lacks_arguments else self.repairs


def read_shape(value: Any, *, marked: bool, repairs: tuple[str, ...] = ()) -> list[WrittenCall] | None:
    """Read a JSON value as one call or several; None when it, or a part of it, is no call.

    `marked` says that the value stood between marks that only a call has; there it may have a wrapper of any name
    and may lack its arguments. Nothing foreign may stand beside name and arguments.
    """
    return _read(value, marked, repairs, MAX_WRAPPINGS)


def _read(value: Any, marked: bool, repairs: tuple[str, ...], wrappings: int) -> list[WrittenCall] | None:
    if wrappings < 0:
        return None
    if isinstance(value, list):
        found = [_read(item, marked, repairs, wrappings - 1) for item in value]
        return None if not found or None in found else [call for calls in found for call in calls or ()]
    if not isinstance(value, dict) or RECORD_KEYS & value.keys():
        return None
    for key in LIST_KEYS:
        if isinstance(value.get(key), list):
            return _read(value[key], True, repairs, wrappings - 1)
    return _read_wrapped(value, marked, repairs, wrappings) or _read_call(value, marked, repairs)


def _read_wrapped(
    value: dict[str, Any], marked: bool, repairs: tuple[str, ...], wrappings: int
) -> list[WrittenCall] | None:
    for key in CALL_KEYS:
        inner = value.get(key)
        if isinstance(inner, str) and key != "function" and inner.lstrip().startswith("{"):
            try:
                inner = parse_object(inner).value
            except InvalidArguments:
                return None
        if isinstance(inner, dict):
            return _read(inner, True, repairs, wrappings - 1)
    key, inner = next(iter(value.items()), ("", None))
    if marked and len(value) == 1 and key not in ARGUMENT_KEYS and isinstance(inner, dict):
        return _read(inner, False, repairs, wrappings - 1)
    return None


def _read_call(value: dict[str, Any], marked: bool, repairs: tuple[str, ...]) -> list[WrittenCall] | None:
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    arguments_key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name_key is None or not _NAME.match(value[name_key].strip()):
        return None
    if (arguments_key is None and not marked) or value.keys() - {name_key, arguments_key} - _SIDE_KEYS:
        return None
    args, mended = _read_arguments(value[arguments_key] if arguments_key else None)
    if args is None or _is_schema(args):
        return None
    return [WrittenCall(value[name_key].strip(), args, (*repairs, *mended), lacks_arguments=not arguments_key)]


def _read_arguments(written: Any) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    if isinstance(written, dict):
        return written, ()
    if written is None or written == "":
        return {}, ()
    if not isinstance(written, str):
        return None, ()
    try:
        parsed = parse_object(written)
    except InvalidArguments:
        return None, ()
    return parsed.value, parsed.repairs


def _is_schema(args: dict[str, Any]) -> bool:
    return args.get("type") in ("object", "dict") and (isinstance(args.get("properties"), dict) or len(args) == 1)


def known_name(written: str, names: Iterable[str] | None) -> str | None:
    """Give the tool that a written name means: the very name, or the only one that differs in form alone.

    Form is a `functions.` before the name, capitals, and what separates words (`-`, `_`, `.`, blanks). Without
    `names` every name stands for itself.
    """
    if names is None:
        return written
    known = set(names)
    if written in known:
        return written
    plain = _plain(written)
    near = [name for name in known if _plain(name) == plain]
    return near[0] if len(near) == 1 else None


def known_calls(calls: Iterable[WrittenCall], names: Iterable[str] | None) -> list[WrittenCall]:
    """Give the calls under the names of the tools they mean; nothing at all when one of them means none.

    A call without arguments is believed only where its tool is known by `names`.
    """
    meant: list[WrittenCall] = []
    for call in calls:
        name = known_name(call.name, names)
        if name is None or (names is None and call.lacks_arguments):
            return []
        spelling = () if name == call.name else ("name",)
        meant.append(WrittenCall(name, call.args, tuple(dict.fromkeys((*call.mended, *spelling)))))
    return meant


def _plain(name: str) -> str:
    return _SEPARATORS.sub("_", name.removeprefix("functions.")).casefold()
