"""How a new version of a turn differs from the one that it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from nbtool.errors import BadUsage
from nbtool.shorten import shorten
from nbtool.tools.calls.record import CallRecord
from nbtool.wire.reply import Reply

MAX_SHOWN = 200
"""Characters of an argument or a result that a difference shows."""


class TurnView(Protocol):
    """What is edited: a turn's replies, and the calls that were made for them."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102 - the names are those of `Turn`
    @property
    def rounds(self) -> Sequence[Reply]: ...  # noqa: D102
    @property
    def calls(self) -> Sequence[CallRecord]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class CallEdit:
    """One edit: `value` (arguments or text) stands in place of what the call had before."""

    call_id: str
    name: str
    round: int
    what: Literal["arguments", "result"]
    before: str
    value: Any

    def __str__(self) -> str:
        after = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        change = f"{shorten(self.before, MAX_SHOWN)} → {shorten(after, MAX_SHOWN)}"
        return f"{self.what} of `{self.name}` in round {self.round}: {change}"


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """What a version is made from, how many of its first rounds are told from the record, and what was edited."""

    label: Literal["Rerun", "Resumed", "Re-executed"]
    turn_id: str
    kept_rounds: int
    edits: tuple[CallEdit, ...] = ()

    @property
    def replays_rounds(self) -> bool:
        """Whether the rounds that are kept are told as they were, and nothing in them is meant to be otherwise."""
        return self.label != "Re-executed" and not self.edits

    def __str__(self) -> str:
        first = {0: "", 1: "; its first round is told from the record"}
        summary = first.get(self.kept_rounds, f"; its first {self.kept_rounds} rounds are told from the record")
        edits = "".join(f"\n{edit}" for edit in self.edits)
        return f"{self.label} from {self.turn_id}{summary}.{edits}"


def parse_edits(
    turn: TurnView, arguments: Mapping[str, Mapping[str, Any]], results: Mapping[str, str]
) -> tuple[CallEdit, ...]:
    """Give the edits of a turn's calls, which are named by their ids or the beginnings of them.

    Raises:
        BadUsage: there is no such call, one is edited twice, or a value is not of the kind that its place takes.
    """
    edits = [_arguments(_call(turn, call_id), value) for call_id, value in arguments.items()]
    edits += [_result(_call(turn, call_id), value) for call_id, value in results.items()]
    if len({edit.call_id for edit in edits}) < len(edits):
        raise BadUsage("A call is edited twice.", fix="Give its arguments or its result, once.")
    return tuple(edits)


def _arguments(call: CallRecord, value: object) -> CallEdit:
    try:
        if not isinstance(value, Mapping):
            raise TypeError(f"{type(value).__name__} is no mapping")
        value = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadUsage(f"The arguments of `{call.name}` are a mapping of JSON values ({error}).") from None
    return CallEdit(call.call_id, call.name, call.round, "arguments", call.arguments, value)


def _result(call: CallRecord, value: object) -> CallEdit:
    if not isinstance(value, str):
        raise BadUsage(f"The result of `{call.name}` is told as text, not as {type(value).__name__}.", fix="Use str().")
    return CallEdit(call.call_id, call.name, call.round, "result", call.shown, value)


def _call(turn: TurnView, call_id: str) -> CallRecord:
    """Give a call that the model itself asked for: one that a tool made has no place in the messages."""
    call_ids = {call.call_id for reply in turn.rounds if reply.complete for call in reply.calls}
    matches = [call for call in turn.calls if call.call_id in call_ids and call.call_id.startswith(call_id)]
    if len(matches) != 1:
        available = (
            ", ".join(f"{call.call_id} ({call.name})" for call in turn.calls if call.call_id in call_ids) or "none"
        )
        many = "Several calls begin" if matches else "No call begins"
        raise BadUsage(f"{many} with {call_id!r} in {turn.turn_id}.", fix=f"Its calls: {available}.")
    return matches[0]
