"""What the turn of an answer says: why it failed, which of its calls ran, and about which nobody decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from nbtool.chat.batch.answers import Answer, approver_error, has_undecided_calls
from nbtool.chat.batch.earlier_maps.earlier_turns import choose_step, find_start, has_started
from nbtool.chat.turn import Turn
from nbtool.errors import Cancelled, IncompleteReply, InvalidAnswer, WorkerLost

INCOMPLETE_FIX = "Map again to go on."
"""What to do about a reply that broke off."""

INVALID_FIX = "Map again to ask for the answer again, from the results of the calls that ran, or ask for less."
INVALID_PLAIN_FIX = "Map again to ask again, or ask for less."
"""What to do about an answer that is not of the type."""


def with_calls(answer: Answer, earlier: Sequence[Turn], free_tools: Collection[str]) -> Answer:
    """Return an answer with what its turn, and the `earlier` ones that it continues, say of its calls.

    Calls of the `free_tools` have no effects.
    """
    turn = answer.turn
    is_undecided = turn is not None and answer.error is None and _has_undecided(turn)
    calls = [call for item in (turn, *earlier) if item for call in item.calls]
    has_acted = (
        answer.has_acted
        or (isinstance(answer.error, WorkerLost) and answer.error.may_have_run)
        or any(has_started(call, free_tools) for call in calls)
    )
    has_unknown = answer.error is not None and has_acted
    if turn and has_unknown:
        has_unknown = choose_step([turn, *earlier], free_tools) == "refuse"
    turn_id = turn.turn_id if turn else answer.turn_id
    if earlier and not answer.turn_id and (turn is None or not find_start(turn.log)):
        turn_id = earlier[0].turn_id  # the journal has nothing of the turn
    return replace(
        answer,
        turn_id=turn_id,
        has_undecided_calls=is_undecided,
        approver_error=approver_error(turn.log) if turn and is_undecided else "",
        has_acted=has_acted and (answer.error is not None or is_undecided),
        end_reason=turn.end_reason if turn else answer.end_reason,
        has_unknown_calls=has_unknown,
    )


def error_of(turn: Turn) -> BaseException:
    """Return why a turn did not complete, with what to do about it in a map."""
    if isinstance(turn.error, IncompleteReply):
        return turn.error.changed(fix=INCOMPLETE_FIX)
    if isinstance(turn.error, InvalidAnswer):
        return turn.error.changed(fix=INVALID_FIX if turn.calls else INVALID_PLAIN_FIX)
    return turn.error or Cancelled(f"The turn was {turn.status}.")


def _has_undecided(turn: Turn) -> bool:
    """Whether nobody decided about a call, also one of the turn that this one continues."""
    return has_undecided_calls(turn.log) or any(
        call.is_undecided and call.status in ("denied", "withheld") for call in turn.calls
    )
