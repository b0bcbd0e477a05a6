"""Recover all known outcomes of a turn, also from the earlier versions that it was resumed from.

A resumed version first repeats the outcomes of the version before it. If the kernel is killed during this, its record
is less complete than the earlier one, and using it alone would run calls again that have already run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TurnStarted
from nbtool.turn_state import Call
from nbtool.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class Round:
    """A reply of a turn, and the records of the calls of its round, those made by its tools included."""

    reply: Reply
    calls: tuple[Call, ...]


def rounds_of(turn: Turn) -> list[Round]:
    """Return the rounds of a turn, in order."""
    return [
        Round(reply, tuple(record for record in turn.calls if record.round == number))
        for number, reply in enumerate(turn.rounds, 1)
    ]


def complete_rounds(turn: Turn) -> list[Round]:
    """Return the leading rounds of a turn whose replies are complete."""
    return list(takewhile(lambda round: round.reply.complete, rounds_of(turn)))


def recover(turn: Turn, find: Callable[[str], Turn]) -> list[Round]:
    """Return all known complete rounds of a turn; `find` returns a version by its id, or raises `BadUsage`."""
    sources: dict[str, tuple[Turn, int]] = {}
    at: Turn | None = turn
    while at is not None and at.turn_id not in sources:  # a forged history may contain a cycle
        began = next((event for event in at.log if isinstance(event, TurnStarted)), None)
        sources[at.turn_id] = (at, began.told_rounds if began else 0)
        at = _source_turn(began, find)
    *later_turns, (first, _) = sources.values()
    result = complete_rounds(first)
    for later, carried in reversed(later_turns):
        result = _merge(complete_rounds(later), result[: max(carried, 0)])
    return result


def is_pending(record: Call | None) -> bool:
    """Whether a call never started, so that it can run without running twice."""
    if record is None:
        return True
    return record.started is None and record.status in ("waiting", "running", "cancelled", "not_run")


def _source_turn(began: TurnStarted | None, find: Callable[[str], Turn]) -> Turn | None:
    try:
        return find(began.told_from) if began and began.told_from else None
    except BadUsage:  # it was deleted, or is unknown
        return None


def _merge(own: Sequence[Round], carried: Sequence[Round]) -> list[Round]:
    """Merge the rounds of a turn with those carried from the former version; its own take precedence."""
    merged = [_merge_round(later, former) for later, former in zip(own, carried, strict=False)]
    return [*merged, *own[len(carried) :], *carried[len(own) :]]


def _merge_round(later: Round, former: Round) -> Round:
    """Return a round with the former records of calls that never started in the later version."""
    own = {record.call_id: record for record in later.calls}
    before = {record.call_id: record for record in former.calls}
    for call, same in zip(later.reply.calls, former.reply.calls, strict=False):
        was = before.get(same.call_id)
        if is_pending(own.get(call.call_id)) and was and not is_pending(was):
            own[call.call_id] = replace(was, call_id=call.call_id)
    return Round(later.reply, tuple(own.values()))
