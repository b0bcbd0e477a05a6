"""Recover all known outcomes of a turn, also from the earlier versions that it was resumed from.

A resumed version first repeats the outcomes of the version before it. If the kernel is killed during this, its record
is less complete than the earlier one, and using it alone would run calls again that have already run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nbtool.chat.edits import TurnView
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TurnStarted
from nbtool.tools.calls.record import CallRecord
from nbtool.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class RecoveredTurn:
    """The replies of a turn, and the outcomes of their calls."""

    turn_id: str
    rounds: Sequence[Reply]
    calls: Sequence[CallRecord]


def recover(turn: Turn, find: Callable[[str], Turn]) -> TurnView:
    """Return all known outcomes of a turn; `find` returns a version by its id, or raises `BadUsage`."""
    sources: list[tuple[Turn, int]] = []
    at: Turn | None = turn
    while at is not None and at.turn_id not in {
        one.turn_id for one, _ in sources
    }:  # a forged history may contain a cycle
        began = next((event for event in at.log if isinstance(event, TurnStarted)), None)
        sources.append((at, began.told_rounds if began else 0))
        at = _source_turn(began, find)
    result: TurnView = sources[-1][0]
    for later, rounds in reversed(sources[:-1]):
        result = _merge(later, result, rounds)
    return result


def complete_rounds(turn: TurnView) -> int:
    """Return the number of leading complete replies."""
    return next((index for index, reply in enumerate(turn.rounds) if not reply.complete), len(turn.rounds))


def is_pending(record: CallRecord | None) -> bool:
    """Whether a call never started, so that it can run without running twice."""
    if record is None:
        return True
    return record.started is None and record.status in ("waiting", "running", "cancelled", "not_run")


def _source_turn(began: TurnStarted | None, find: Callable[[str], Turn]) -> Turn | None:
    try:
        return find(began.told_from) if began and began.told_from else None
    except BadUsage:  # it was deleted, or is unknown
        return None


def _merge(turn: Turn, former: TurnView, carried: int) -> RecoveredTurn:
    """Merge the outcomes of a turn with those carried from the former version; its own take precedence."""
    own, carried = complete_rounds(turn), min(carried, complete_rounds(former))
    calls = [call for index in range(own) for call in _merge_calls(turn, former if index < carried else None, index)]
    calls += [call for index in range(own, carried) for call in _calls_in_round(former, index)]
    return RecoveredTurn(turn.turn_id, (*turn.rounds[:own], *former.rounds[own:carried]), calls)


def _merge_calls(turn: Turn, former: TurnView | None, index: int) -> list[CallRecord]:
    """Return the calls of one round, with the former record of calls that never started in the turn."""
    own = {record.call_id: record for record in _calls_in_round(turn, index)}
    if former:
        before = {record.call_id: record for record in _calls_in_round(former, index)}
        for call, same in zip(turn.rounds[index].calls, former.rounds[index].calls, strict=False):
            was = before.get(same.call_id)
            if is_pending(own.get(call.call_id)) and was and not is_pending(was):
                own[call.call_id] = replace(was, call_id=call.call_id)
    return list(own.values())


def _calls_in_round(turn: TurnView, index: int) -> list[CallRecord]:
    return [record for record in turn.calls if record.round == index + 1]
