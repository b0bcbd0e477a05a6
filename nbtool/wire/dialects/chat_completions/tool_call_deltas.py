"""Assigns the fragments of `tool_calls` in Chat Completions to their calls.

A call begins with its name; what brings none continues a call. Which one, its id says, or its `index`, which is only
a key: if a server omits it, or sends the same one for several calls, calls are distinguished by their ids, or without
ids by their names. Fragments that cannot be distinguished stay in one call, whose arguments are then invalid JSON: it
is refused, so that two calls are never merged into one that runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.events import CallDelta
from nbtool.wire.arguments import arguments_text
from nbtool.wire.framing.value_types import require_object
from nbtool.wire.reply import CALLS_CEILING


@dataclass(slots=True, eq=False)
class _Call:
    key: str
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    is_custom: bool = False
    extra: Any = None
    can_be_snapshots: bool = True  # each fragment so far started with the former one

    def add_name(self, name: str) -> str:
        """Add a name, which may be a piece of one, and return the whole name if it is another one now.

        Servers repeat the name in each fragment, or the whole of it so far, or send it in pieces.
        """
        if not name or name == self.name:
            return ""
        self.name = name if name.startswith(self.name) else self.name + name
        return self.name

    def is_complete(self) -> bool:
        """Whether its arguments are a complete JSON object; parses them only if they may be."""
        return (
            bool(self.fragments) and self.fragments[-1].rstrip().endswith("}") and _is_object("".join(self.fragments))
        )


class ToolCallAssembler:
    """Assigns the fragments of one reply to its calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, fragments: list[dict[str, Any]], *, is_snapshot: bool = False) -> list[CallDelta]:
        """Handle the fragments of one delta, or with `is_snapshot` the calls of a whole message."""
        if len(fragments) == 1 and not is_snapshot and (delta := self._append_fast(fragments[0])):
            return [delta]
        deltas: list[CallDelta] = []
        touched: set[_Call] = set()
        for position, fragment in enumerate(fragments):
            if len(self._calls) > CALLS_CEILING:
                break  # the builder of the reply stops at the last of them
            function = require_object(fragment.get("function") or _flat_function(fragment), "The function of a call")
            custom = fragment.get("custom")
            if isinstance(custom, dict) and (fragment.get("type") == "custom" or (custom and not function)):
                function = {"name": custom.get("name"), "arguments": custom.get("input")}
                fragment = {**fragment, "type": "custom"}
            if is_snapshot:
                call = self._snapshot_at(position, fragment, touched)
            else:
                call = self._find(fragment, function, position, touched)
            touched.add(call)
            deltas += self._append(call, fragment, function, is_snapshot=is_snapshot)
        return deltas

    def add_function_call(self, function: dict[str, Any]) -> list[CallDelta]:
        """Handle a fragment of `function_call`, the predecessor of `tool_calls`.

        Next to `tool_calls` it repeats the same call (llama-cpp-python) and is ignored.
        """
        call = self._by_index.get(-1)
        is_empty = not function.get("name") and function.get("arguments") in (None, "")
        if is_empty or (self._calls and call is None):
            return []
        call = call or self._new(-1)
        return self._append(call, {}, function, is_snapshot=False)

    def finish(self) -> list[CallDelta]:
        """Repair the calls of which every fragment repeated the whole text so far; only after the last fragment."""
        deltas: list[CallDelta] = []
        for call in self._calls:
            if call.can_be_snapshots and len(call.fragments) > 1 and not _is_object("".join(call.fragments)):
                snapshot = call.fragments[-1]
                if _is_object(snapshot):
                    call.fragments = [snapshot]
                    deltas.append(CallDelta(call.key, arguments=snapshot, final=True))
        return deltas

    def native(self) -> list[dict[str, Any]]:
        """Return the calls in their native form."""
        return [_native(call) for call in self._calls]

    def _append_fast(self, fragment: Any) -> CallDelta | None:
        """Handle the most frequent fragment, more arguments of a known call; None for any other."""
        if type(fragment) is not dict or type(index := fragment.get("index")) is not int:
            return None
        call, function = self._by_index.get(index), fragment.get("function")
        if call is None or type(function) is not dict or fragment.get("id") or function.get("name"):
            return None
        if type(text := function.get("arguments")) is not str or "extra_content" in fragment or "custom" in fragment:
            return None
        if text:
            self._collect(call, text)
        return CallDelta(call.key, arguments=text)

    def _collect(self, call: _Call, text: str) -> None:
        if call.can_be_snapshots and call.fragments:
            call.can_be_snapshots = text.startswith(call.fragments[-1])
        call.fragments.append(text)

    def _new(self, index: int | None) -> _Call:
        call = _Call(str(len(self._calls)))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _snapshot_at(self, position: int, fragment: dict[str, Any], touched: set[_Call]) -> _Call:
        """Return the call of a whole message: by position if the ids match, else by id."""
        call_id = _text(fragment.get("id"))
        at_position = self._calls[position] if position < len(self._calls) else None
        if at_position and (not call_id or at_position.id in ("", call_id)):
            return at_position
        by_id = self._by_id.get(call_id)
        return by_id if by_id and by_id not in touched else self._new(None)

    def _find(self, fragment: dict[str, Any], function: dict[str, Any], position: int, touched: set[_Call]) -> _Call:
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        index = parse_index(fragment.get("index"))
        if index is None:
            return self._index_missing(call_id, name, function, position, touched)
        call = self._by_index.get(index)
        if call is None:
            continued = None if name else self._by_id.get(call_id) or self._continued(function)
            return self._by_index.setdefault(index, continued) if continued else self._new(index)
        if call_id and call.id and call_id != call.id:
            return self._by_id.get(call_id) or (self._new(index) if name else call)
        is_new_call = name and not call_id and (call in touched or self._starts_new_call(call, name, function))
        return self._new(index) if is_new_call else call

    def _starts_new_call(self, call: _Call, name: str, function: dict[str, Any]) -> bool:
        """Whether a name under a used index starts another call.

        Some servers repeat the name in each fragment, others send the same index and no id for all calls; a complete
        call followed by the start of an object indicates the second kind.
        """
        arguments = function.get("arguments")
        if isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
            return False
        if arguments is None or not call.is_complete():
            return False
        return name != call.name or arguments_text(arguments) != "".join(call.fragments)

    def _continued(self, function: dict[str, Any]) -> _Call | None:
        """Return the newest call, if it can be what arguments under another index and another id continue."""
        last = self._calls[-1] if self._calls else None
        return last if last and function.get("arguments") and not last.is_complete() else None

    def _index_missing(
        self, call_id: str, name: str, function: dict[str, Any], position: int, touched: set[_Call]
    ) -> _Call:
        if call_id:
            continued = self._by_id.get(call_id) or (None if name else self._continued(function))
            return continued or self._new(None)
        last = self._calls[-1] if self._calls else None
        if last is None:
            return self._new(None)
        if name:
            is_same = last.name == name and last not in touched and not last.is_complete()
            return last if is_same else self._new(None)
        if touched and position < len(self._calls):
            return self._calls[position]
        return last

    def _append(
        self, call: _Call, fragment: dict[str, Any], function: dict[str, Any], *, is_snapshot: bool
    ) -> list[CallDelta]:
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        if call_id and not call.id:
            call.id = call_id
            self._by_id[call_id] = call
        name = call.add_name(name)
        call.is_custom = call.is_custom or fragment.get("type") == "custom"
        call.extra = fragment.get("extra_content") or call.extra
        arguments = function.get("arguments")
        final = is_snapshot or not isinstance(arguments, str | None)  # what is no text cannot be a piece of one
        text = arguments_text(arguments)
        if text and final:
            call.fragments = [text]
        elif text:
            self._collect(call, text)
        return [CallDelta(call.key, call_id, name, text, final)]


def _flat_function(fragment: dict[str, Any]) -> dict[str, Any]:
    """Return the name and the arguments of a call that has them beside its id, as the calls of Responses do."""
    return {field: fragment[field] for field in ("name", "arguments") if field in fragment}


def _native(call: _Call) -> dict[str, Any]:
    arguments = "".join(call.fragments)
    if call.is_custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": arguments}}
    native = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    if call.extra is not None:
        native["extra_content"] = call.extra
    return native


def parse_index(value: Any) -> int | None:
    """Parse an index: servers send integers, whole floats and digits; anything else counts as missing."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isdecimal():
        return int(value[:9])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and value >= 0 else None


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    return text.lstrip().startswith("{") and parse_arguments(text)[1] is None
