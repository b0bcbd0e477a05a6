"""What a turn reuses from an earlier version of itself: replies, and outcomes of calls.

The engine takes replies from it, and sends a request to the model only after the last one; tool calling takes known
outcomes from it, and runs all other calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chain.hooks import TurnContext
from nbtool.chat.rerun.recovery import Round
from nbtool.events import Notice
from nbtool.ids import new_id
from nbtool.messages import Part, ToolCall, Usage
from nbtool.turn_state import Call
from nbtool.wire.reply import Reply

INTERRUPTED_CALL = "The call was stopped while it was running: its outcome is unknown. It was not run again."
EDITED_BY_USER = "edited by you"
OUTCOME_CHANGED = "The outcome of {names} differs from the recorded one: the model is asked from here on."

ShouldRun = Callable[[ToolCall, Call | None], bool]
"""Decides whether a call runs, from its earlier record (None: there is none)."""


@dataclass(slots=True)
class CarryOver:
    """The replies of the first rounds, and the calls in them whose outcomes are reused.

    `known_outcomes` maps the id of a call to its record, followed by those of the calls that it made.
    `expected_outcomes` are the outcomes of each round on which the next reply depends: if one differs, the remaining
    replies are dropped. `additions` are what the person added, by how many replies there were then.
    """

    replies: tuple[Reply, ...] = ()
    known_outcomes: dict[str, tuple[Call, ...]] = field(default_factory=dict)
    expected_outcomes: tuple[tuple[str, ...], ...] = ()
    additions: dict[int, list[str]] = field(default_factory=dict)

    @property
    def runs_calls(self) -> bool:
        """Whether a call has to run."""
        return any(call.call_id not in self.known_outcomes for reply in self.replies for call in reply.calls)

    @property
    def references(self) -> frozenset[str]:
        """The names of the results that are reused."""
        return frozenset(record.reference for records in self.known_outcomes.values() for record in records)

    def reply_source(self, records: Sequence[Call]) -> Callable[[TurnContext], Any]:
        """Return the engine's source of replies; `records` are the calls of the running turn."""

        async def next_reply(turn: TurnContext) -> Reply | None:
            rounds = turn.meter.rounds
            if rounds >= len(self.replies):
                return None
            if rounds and (names := self._changed_calls(rounds - 1, records)):
                self.replies = self.replies[:rounds]
                await turn.emit(Notice(OUTCOME_CHANGED.format(names=", ".join(f"`{name}`" for name in names))))
                return None
            return self.replies[rounds]

        return next_reply

    def _changed_calls(self, index: int, records: Sequence[Call]) -> list[str]:
        """Return the names of the calls of a round whose outcomes differ from the expected ones."""
        if index >= len(self.expected_outcomes):
            return []
        outcomes = {record.call_id: record for record in records}
        calls = self.replies[index].calls
        pairs = zip(calls, self.expected_outcomes[index], strict=True)
        return [call.name for call, expected in pairs if _outcome(outcomes.get(call.call_id)) != expected]


def carry_over(
    rounds: Iterable[Round],
    *,
    runs: ShouldRun,
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    results: Mapping[str, str] | None = None,
    compare: bool = False,
) -> CarryOver:
    """Reuse the first rounds of a turn; a call runs if `runs` returns True, else its outcome is reused.

    `arguments` and `results` replace the recorded ones, by the ids of their calls. With `compare`, a reply is reused
    only as long as the outcomes of the calls before it are unchanged.
    """
    carry = CarryOver()
    for round in rounds:
        reply = round.reply
        new_reply, ids = _with_new_ids(reply, arguments or {})
        carry.replies += (new_reply,)
        by_id = {record.call_id: record for record in round.calls}
        if compare:
            carry.expected_outcomes += (tuple(_outcome(by_id.get(call.call_id)) for call in reply.calls),)
        carried = {call.call_id for call in reply.calls if not runs(call, by_id.get(call.call_id))} & by_id.keys()
        for call_id in carried:
            record = _carried_record(by_id[call_id], ids[call_id], (results or {}).get(call_id))
            carry.known_outcomes[ids[call_id]] = (record,)
        if carried and carried == ids.keys():
            # Inner calls are carried with the last call of the round: which call made them is not recorded.
            inner = tuple(_carried_record(item, new_id("call")) for item in round.calls if item.call_id not in ids)
            carry.known_outcomes[ids[reply.calls[-1].call_id]] += inner
    return carry


def _with_new_ids(reply: Reply, arguments: Mapping[str, Mapping[str, Any]]) -> tuple[Reply, dict[str, str]]:
    """Return a reply with new ids of its calls, and by the old ids the new ones; it costs nothing a second time."""
    ids = {call.call_id: new_id("call") for call in reply.calls}
    parts = tuple(_part(part, ids, arguments) for part in reply.message.parts)
    message = replace(reply.message, parts=parts, message_id=new_id("m"))
    if ids.keys() & arguments.keys():
        message = message.with_parts(parts)  # what its provider sent says something else
    return replace(reply, message=message, usage=Usage()), ids


def _part(part: Part, ids: Mapping[str, str], arguments: Mapping[str, Mapping[str, Any]]) -> Part:
    if not isinstance(part, ToolCall):
        return part
    if part.call_id not in arguments:
        return replace(part, call_id=ids[part.call_id])
    text = json.dumps(dict(arguments[part.call_id]), ensure_ascii=False)
    return ToolCall(part.name, text, part.id, ids[part.call_id], runnable=True)


def _carried_record(record: Call, call_id: str, result: str | None = None) -> Call:
    """Return a copy of a record for a later version, with an edited result if there is one."""
    carried = replace(
        record, call_id=call_id, decisions=[replace(decision, call_id=call_id) for decision in record.decisions]
    )
    if result is not None:
        carried.status, carried.shown, carried.reason = "ok", result, EDITED_BY_USER
        carried.result, carried.reference, carried.dead_reference = result, "", ""
        carried.images, carried.media = (), ()
    elif record.status == "cancelled" and record.started is not None:
        carried.status, carried.shown, carried.reason = "unknown", INTERRUPTED_CALL, INTERRUPTED_CALL
    return carried


def _outcome(record: Call | None) -> str:
    """Return a comparable text of an outcome, without the name of the result, which differs each time."""
    if record is None:
        return ""
    text = record.shown.replace(f"{{{{{record.result_name}}}}}", "") if record.result_name else record.shown
    return f"{record.status}\n{text}"
