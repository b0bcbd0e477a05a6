"""The difference between a new version of a turn and the version that it is based on."""

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
"""Maximum characters of an argument or a result in a diff."""


class TurnView(Protocol):
    """The part of a turn that is edited: its replies and their calls."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102 - the names are those of `Turn`
    @property
    def rounds(self) -> Sequence[Reply]: ...  # noqa: D102
    @property
    def calls(self) -> Sequence[CallRecord]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class CallEdit:
    """One edit: `value` (arguments or text) replaces that of the call."""

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
    """The turn that a version is based on, how many of its first rounds are reused, and the edits."""

    label: Literal["Rerun", "Resumed", "Re-executed"]
    turn_id: str
    kept_rounds: int
    edits: tuple[CallEdit, ...] = ()

    @property
    def replays_rounds(self) -> bool:
        """Whether the reused rounds are unchanged."""
        return self.label != "Re-executed" and not self.edits

    def __str__(self) -> str:
        first = {0: "", 1: "; its first round is reused"}
        summary = first.get(self.kept_rounds, f"; its first {self.kept_rounds} rounds are reused")
        edits = "".join(f"\n{edit}" for edit in self.edits)
        return f"{self.label} from {self.turn_id}{summary}.{edits}"


def parse_edits(
    turn: TurnView, arguments: Mapping[str, Mapping[str, Any]], results: Mapping[str, str]
) -> tuple[CallEdit, ...]:
    """Return the edits of a turn's calls, which are named by the beginnings of their ids.

    Raises:
        BadUsage: a call does not exist or is edited twice, or a value has the wrong type.
    """
    edits = [_arguments(_call(turn, call_id), value) for call_id, value in arguments.items()]
    edits += [_result(_call(turn, call_id), value) for call_id, value in results.items()]
    if len({edit.call_id for edit in edits}) < len(edits):
        raise BadUsage("A call is edited twice.", fix="Edit either its arguments or its result, once.")
    return tuple(edits)


def _arguments(call: CallRecord, value: object) -> CallEdit:
    try:
        if not isinstance(value, Mapping):
            raise TypeError(f"{type(value).__name__} is not a mapping")
        value = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadUsage(f"The arguments of `{call.name}` have to be a mapping of JSON values ({error}).") from None
    return CallEdit(call.call_id, call.name, call.round, "arguments", call.arguments, value)


def _result(call: CallRecord, value: object) -> CallEdit:
    if not isinstance(value, str):
        raise BadUsage(f"The result of `{call.name}` has to be a string, not {type(value).__name__}.", fix="Use str().")
    return CallEdit(call.call_id, call.name, call.round, "result", call.shown, value)


def _call(turn: TurnView, call_id: str) -> CallRecord:
    """Return a call that the model requested; a call made by a tool is not in the messages and cannot be edited."""
    call_ids = {call.call_id for reply in turn.rounds if reply.complete for call in reply.calls}
    matches = [call for call in turn.calls if call.call_id in call_ids and call.call_id.startswith(call_id)]
    if len(matches) != 1:
        available = (
            ", ".join(f"{call.call_id} ({call.name})" for call in turn.calls if call.call_id in call_ids) or "none"
        )
        many = "Several calls begin" if matches else "No call begins"
        raise BadUsage(f"{many} with {call_id!r} in {turn.turn_id}.", fix=f"Its calls: {available}.")
    return matches[0]
