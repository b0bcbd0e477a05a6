"""What is known of a turn: its own record, and, where it broke off while it was told from another, that one's too.

A version that is resumed tells first what came of the one before it. A kernel that is killed in the middle of this
leaves a record that knows less than the former one, and to go by it alone would be to run again what has run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nbtool.chat.edits import Made
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TurnStarted
from nbtool.tools.calls.record import CallRecord
from nbtool.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class Known:
    """The replies of a turn, and what came of their calls."""

    turn_id: str
    rounds: Sequence[Reply]
    calls: Sequence[CallRecord]


def known(turn: Turn, find: Callable[[str], Turn]) -> Made:
    """Give all that is known of a turn; `find` gives a version by its id, or raises `BadUsage`."""
    told: list[tuple[Turn, int]] = []
    at: Turn | None = turn
    while at is not None and at.turn_id not in {one.turn_id for one, _ in told}:  # a forged history may go in a circle
        began = next((event for event in at.log if isinstance(event, TurnStarted)), None)
        told.append((at, began.told_rounds if began else 0))
        at = _former(began, find)
    found: Made = told[-1][0]
    for later, rounds in reversed(told[:-1]):
        found = _joined(later, found, rounds)
    return found


def complete(turn: Made) -> int:
    """Count the replies from the first on that came whole."""
    return next((place for place, reply in enumerate(turn.rounds) if not reply.complete), len(turn.rounds))


def is_pending(record: CallRecord | None) -> bool:
    """Whether a call never began: then to run it is not to run it again."""
    if record is None:
        return True
    return record.started is None and record.status in ("waiting", "running", "cancelled", "not_run")


def _former(began: TurnStarted | None, find: Callable[[str], Turn]) -> Turn | None:
    try:
        return find(began.told_from) if began and began.told_from else None
    except BadUsage:  # it was deleted, or is told of nowhere
        return None


def _joined(turn: Turn, former: Made, told: int) -> Known:
    """Join what a turn knows with what it was to tell of the former one: its own word counts where it has one."""
    own, told = complete(turn), min(told, complete(former))
    calls = [call for place in range(own) for call in _called(turn, former if place < told else None, place)]
    calls += [call for place in range(own, told) for call in _of(former, place)]
    return Known(turn.turn_id, (*turn.rounds[:own], *former.rounds[own:told]), calls)


def _called(turn: Turn, former: Made | None, place: int) -> list[CallRecord]:
    """Give the calls of one round: those of the turn, and where one never began in it, what the former one knows."""
    own = {record.call_id: record for record in _of(turn, place)}
    if former:
        before = {record.call_id: record for record in _of(former, place)}
        for call, same in zip(turn.rounds[place].calls, former.rounds[place].calls, strict=False):
            was = before.get(same.call_id)
            if is_pending(own.get(call.call_id)) and was and not is_pending(was):
                own[call.call_id] = replace(was, call_id=call.call_id)
    return list(own.values())


def _of(turn: Made, place: int) -> list[CallRecord]:
    return [record for record in turn.calls if record.round == place + 1]
