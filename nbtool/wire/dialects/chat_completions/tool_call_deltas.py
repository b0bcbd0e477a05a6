"""Which fragment belongs to which call: the sorting of `tool_calls` in Chat Completions.

The `index` of a fragment is a key and nothing more. Where a server leaves it out, or gives the same one to several
calls, the id tells calls apart, and where there is none, the name does. Fragments that cannot be told apart stay in
one call, whose arguments are then no JSON: it is refused, and never two calls are mixed into one that runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from nbtool.events import CallDelta
from nbtool.wire.reply import CALLS_CEILING, parse_arguments


@dataclass(slots=True, eq=False)
class _Call:
    key: str
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    is_custom: bool = False
    extra: Any = None
    can_be_snapshots: bool = True  # each piece so far began with the piece before it

    def is_complete(self) -> bool:
        """Whether its arguments are a JSON object already; looks at them only where they may be."""
        return (
            bool(self.fragments) and self.fragments[-1].rstrip().endswith("}") and _is_object("".join(self.fragments))
        )


class ToolCallAssembler:
    """Sorts the fragments of one reply into its calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, fragments: list[Any], *, is_snapshot: bool = False) -> list[CallDelta]:
        """Take the fragments of one delta, or with `is_snapshot` the calls of one whole message."""
        if len(fragments) == 1 and not is_snapshot and (delta := self._append_fast(fragments[0])):
            return [delta]
        deltas: list[CallDelta] = []
        touched: set[_Call] = set()
        for position, fragment in enumerate(fragments):
            if len(self._calls) > CALLS_CEILING:
                break  # the builder of the reply has stopped at the last of them
            if not isinstance(fragment, dict):
                continue
            function = fragment.get("function")
            function = function if isinstance(function, dict) else {}
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
        """Take a fragment of the one `function_call` that servers sent before there were `tool_calls`.

        Beside `tool_calls` it is the same call told twice (llama-cpp-python does so), and says nothing.
        """
        call = self._by_index.get(-1)
        if not (function.get("name") or function.get("arguments")) or (self._calls and call is None):
            return []
        call = call or self._new(-1)
        return self._append(call, {}, function, is_snapshot=False)

    def finish(self) -> list[CallDelta]:
        """Repair the calls whose every fragment was the whole text so far, now that no more can come."""
        deltas: list[CallDelta] = []
        for call in self._calls:
            if call.can_be_snapshots and len(call.fragments) > 1 and not _is_object("".join(call.fragments)):
                snapshot = call.fragments[-1]
                if _is_object(snapshot):
                    call.fragments = [snapshot]
                    deltas.append(CallDelta(call.key, arguments=snapshot, final=True))
        return deltas

    def native(self) -> list[dict[str, Any]]:
        """Return the calls in the dialect's own form."""
        return [_native(call) for call in self._calls]

    def _append_fast(self, fragment: Any) -> CallDelta | None:
        """Take the commonest fragment, more arguments for a known call; None where it is anything else."""
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
        """Find the call that a whole message names: by its place where the ids agree, else by its id."""
        call_id = _text(fragment.get("id"))
        at_position = self._calls[position] if position < len(self._calls) else None
        if at_position and (not call_id or at_position.id in ("", call_id)):
            return at_position
        by_id = self._by_id.get(call_id)
        return by_id if by_id and by_id not in touched else self._new(None)

    def _find(self, fragment: dict[str, Any], function: dict[str, Any], position: int, touched: set[_Call]) -> _Call:
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        index = _index(fragment.get("index"))
        if index is None:
            return self._index_missing(call_id, name, position, touched)
        call = self._by_index.get(index)
        if call is None:
            return self._new(index)
        if call_id and call.id and call_id != call.id:
            return self._by_id.get(call_id) or self._new(index)
        is_new_call = name and not call_id and (call in touched or self._starts_new_call(call, name, function))
        return self._new(index) if is_new_call else call

    def _starts_new_call(self, call: _Call, name: str, function: dict[str, Any]) -> bool:
        """Whether a name, under an index that is taken, opens a further call.

        Servers exist that repeat the name in each fragment, and servers that give all calls the same index and
        no id; a call that is whole, followed by the beginning of an object, tells the second kind.
        """
        arguments = function.get("arguments")
        if isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
            return False
        if arguments is None or not call.is_complete():
            return False
        return name != call.name or _as_text(arguments) != "".join(call.fragments)

    def _index_missing(self, call_id: str, name: str, position: int, touched: set[_Call]) -> _Call:
        if call_id:
            return self._by_id.get(call_id) or self._new(None)
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
        call.name = call.name or name
        call.is_custom = call.is_custom or fragment.get("type") == "custom"
        call.extra = fragment.get("extra_content") or call.extra
        arguments = function.get("arguments")
        final = is_snapshot or isinstance(arguments, dict | list)
        text = _as_text(arguments)
        if text and final:
            call.fragments = [text]
        elif text:
            self._collect(call, text)
        return [CallDelta(call.key, call_id, name, text, final)]


def _native(call: _Call) -> dict[str, Any]:
    arguments = "".join(call.fragments)
    if call.is_custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": arguments}}
    native = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    if call.extra is not None:
        native["extra_content"] = call.extra
    return native


def _index(value: Any) -> int | None:
    """Read an index: servers send numbers, whole floats and digits; everything else is as if there were none."""
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


def _as_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _is_object(text: str) -> bool:
    """Whether a text is one JSON object."""
    return text.lstrip().startswith("{") and parse_arguments(text)[1] is None
