"""What an earlier map has left of a prompt, and what is done with it: no call that ran is run again by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from nbtool.chain.limits import Limits
from nbtool.chat.conversation import restore
from nbtool.chat.journal import queries
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError, NotRepeated
from nbtool.events import CallStarted, Event, TurnEnded, TurnStarted
from nbtool.tools.calls.repeats import count_repeats
from nbtool.turn_state import Call

NextStep = Literal["send", "continue", "use", "refuse"]
"""What is done with a prompt: send it, continue its turn from what ran, use its answer as it is, or refuse it."""

MAX_VERSIONS = 100
"""Maximum versions of one turn that are read; with more it is refused."""

KNOWN_STATUSES = frozenset(("ok", "error", "denied", "withheld", "not_run"))
"""The statuses of calls whose outcome is known, so that a turn can go on from it."""

NOT_REPEATED = (
    "An earlier map did not answer this prompt, and a call of it had started, or was about to: what the call did may "
    "be done."
)
NOT_REPEATED_FIX = (
    "It is not sent again by itself. Check what the call did; with `repeat_calls=True` the prompt is sent from its "
    "beginning."
)


@dataclass(frozen=True, slots=True)
class EarlierTurns:
    """What earlier maps have of the prompts of a map, by their keys.

    The turns that answered some; the versions, the latest first, of those that are continued; and the ids of the turns
    of those that are not sent again.
    """

    answered: Mapping[str, Turn] = field(default_factory=dict)
    continued: Mapping[str, Sequence[Turn]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self.answered or key in self.continued or key in self.refused

    def __or__(self, other: EarlierTurns) -> EarlierTurns:
        return EarlierTurns(
            {**self.answered, **other.answered},
            {**self.continued, **other.continued},
            {**self.refused, **other.refused},
        )


def not_repeated() -> NotRepeated:
    """Return the error of a prompt that is not sent again."""
    return NotRepeated(NOT_REPEATED, fix=NOT_REPEATED_FIX)


def choose_step(versions: Sequence[Turn], free_tools: Collection[str], *, has_more_room: bool = False) -> NextStep:
    """Decide what is done with a prompt whose turn gave no answer that can be reused.

    Args:
        versions: the turn and those that it continued, the latest first.
        free_tools: nbtool's own tools, which only read the variables of the chat: they do not count.
        has_more_room: whether a limit ended the turn early, and this map has a larger one (`has_more_room`).
    """
    started = [call for turn in versions for call in turn.calls if has_started(call, free_tools)]
    if not started:
        return "send"
    if any(call.status not in KNOWN_STATUSES for call in started):
        return "refuse"
    latest = versions[0]
    undecided = [call for call in latest.calls if call.is_undecided]
    if latest.status == "completed":
        if not undecided and not has_more_room:
            return "send"  # an object that it used may have changed since
        if undecided and not _can_ask_again(latest, undecided):
            return "use"
        if not undecided and any(map(is_referred_to, started)):
            return "use"  # a part of the answer is better than none
    return "refuse" if any(map(is_referred_to, started)) else "continue"


def has_more_room(turn: Turn, limits: Limits) -> bool:
    """Whether a limit of a turn ended it early, and these limits let it go further."""
    if turn.status != "completed":
        return False
    if turn.end_reason == "rounds":
        return limits.max_rounds > turn.stats.rounds
    if turn.end_reason == "repetition":
        return limits.max_repeats is None or limits.max_repeats > count_repeats(turn.calls)
    return turn.end_reason == "calls" and limits.call_limit > turn.stats.calls


def needs_new_answer(turn: Turn) -> bool:
    """Whether the last answer of a turn that goes on is not reused.

    It did not fit the type, a plugin refused it, or it was given early because of a limit.

    The turn of a process that was killed may have an answer that nobody has seen yet.
    """
    return turn.status == "completed" or (turn.status == "error" and turn.end_reason != "interrupted")


def _can_ask_again(turn: Turn, undecided: Sequence[Call]) -> bool:
    """Whether the model asked for these calls itself, none of them started, and none of a later round did."""
    own = {call.call_id for reply in turn.rounds for call in reply.calls}
    first = min(item.round for item in undecided)
    return all(not item.has_run and item.call_id in own for item in undecided) and not any(
        item.has_run and item.round > first for item in turn.calls
    )


def is_referred_to(call: Call) -> bool:
    """Whether the model was given the name of the result, which is gone with its map."""
    name = call.reference or call.dead_reference
    return bool(name) and f"{{{{{name}" in call.shown


def has_started(call: Call, free_tools: Collection[str]) -> bool:
    """Whether a call started, of a tool that may have effects."""
    return call.has_run and call.name not in free_tools


def find_versions(turn_id: str, read_turn: Callable[[str], Sequence[Event]]) -> list[Sequence[Event]]:
    """Return the events of a turn and of those that it continued, the latest first; none if one is missing."""
    versions: list[Sequence[Event]] = []
    while turn_id and len(versions) < MAX_VERSIONS:
        events = read_turn(turn_id)
        began = find_start(events)
        if began is None:
            return []
        versions.append(events)
        turn_id = began.told_from
    return [] if turn_id else versions


def read_turn(connection: sqlite3.Connection, turn_id: str) -> list[Event]:
    """Return the events of a turn in a journal; none if it is not there."""
    return [event for _, event in queries.event_times(connection, turn_id)]


def restore_versions(versions: Iterable[Sequence[Event]]) -> list[Turn]:
    """Return the turns; none if one cannot be restored."""
    with suppress(NbtoolError):
        return [restore.restore_turn(events) for events in versions]
    return []


def has_answer_or_call(events: Iterable[Event]) -> bool:
    """Whether a turn completed, or a call of it started: not one of a worker that was refused the calls of another."""
    return any(
        isinstance(event, CallStarted) or (isinstance(event, TurnEnded) and event.status == "completed")
        for event in events
    )


def find_start(events: Iterable[Event]) -> TurnStarted | None:
    """Return the start of a turn."""
    return next((event for event in events if isinstance(event, TurnStarted)), None)
