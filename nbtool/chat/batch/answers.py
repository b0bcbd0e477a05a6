"""The answers of a map, and the interface of what gives them from elsewhere than this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nbtool.caller_thread import CallerThread
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError, WorkerLost
from nbtool.events import CallDecided, CallReady, CallStarted, Event, TurnEnded
from nbtool.messages import Message
from nbtool.tools.approval import BY_ERROR, BY_NO_DECISION

NOT_REPEATED = "An earlier map was killed after a call of this prompt had started: what the call did may be done."
NOT_REPEATED_FIX = (
    "It is not repeated. Check what it did; to run it again, map it with `resume=False`, or delete its row from the "
    "file of answers."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one prompt: its `value` or its `error`; `is_cached` if it comes from the journal.

    `label` is the label of its row, `index` counts from 0. A prompt that was never sent has no turn and no `turn_id`;
    with `keep="values"` it has only the id, by which `%chat show` and `%chat explore` find the turn. An answer with
    `has_undecided_calls`, of which one was denied, or its result withheld, because nobody could be asked or the
    approver failed, is not reused; `approver_error` says how it failed.
    """

    index: int
    label: Any
    prompt: str | Message = field(repr=False)
    value: Any = None
    error: BaseException | None = None
    turn: Turn | None = field(default=None, repr=False)
    is_cached: bool = False
    turn_id: str = field(default="", repr=False)
    has_undecided_calls: bool = field(default=False, repr=False)
    approver_error: str = field(default="", repr=False)


def has_undecided_calls(events: Iterable[Event]) -> bool:
    """Whether a turn had a call that was denied, or its result withheld, by nobody's decision."""
    return any(isinstance(event, CallDecided) and event.by in BY_NO_DECISION for event in events)


def has_ended(events: Iterable[Event]) -> bool:
    """Whether a turn came to its end, whatever its status."""
    return any(isinstance(event, TurnEnded) for event in events)


def has_started_call(events: Iterable[Event], free_tools: frozenset[str]) -> bool:
    """Whether a call started; those of the `free_tools`, which only read the variables of the chat, do not count."""
    names: dict[str, str] = {}
    for event in events:
        if isinstance(event, CallReady):
            names[event.call_id] = event.name
        elif isinstance(event, CallStarted) and names.get(event.call_id) not in free_tools:
            return True
    return False


def not_repeated() -> WorkerLost:
    """Return the error of a prompt whose calls may have run in a process that was killed."""
    return WorkerLost(NOT_REPEATED, fix=NOT_REPEATED_FIX, may_have_run=True)


@dataclass(frozen=True, slots=True)
class EarlierTurns:
    """What the journal has of the prompts of a map: the turns that answered some, and errors of those not repeated."""

    answered: Mapping[str, Turn] = field(default_factory=dict)
    not_repeated: Mapping[str, NbtoolError] = field(default_factory=dict)


def approver_error(events: Iterable[Event]) -> str:
    """Return how an approver failed in a turn, the first time; empty if none did."""
    return next((event.reason for event in events if isinstance(event, CallDecided) and event.by == BY_ERROR), "")


@dataclass(frozen=True, slots=True)
class AnswerPort:
    """Where a source of answers puts them, on nbtool's background loop.

    Once there is a `stop_reason`, prompts that were not sent get it as their error; `refuse_rest` gives one.
    Questions to the user are asked on the `caller_thread`, as those of a turn here are.
    """

    add: Callable[[Answer], None]
    stop_reason: Callable[[], NbtoolError | None]
    refuse_rest: Callable[[NbtoolError], None]
    caller_thread: CallerThread


class AnswerSource(Protocol):
    """Answers prompts elsewhere than in this process."""

    async def answer(self, prompts: Sequence[tuple[PromptItem, str]], port: AnswerPort) -> None:
        """Answer all prompts, each with its key, in any order."""

    def stop(self) -> None:
        """Begin no further prompt, and cancel the running ones; on nbtool's background loop."""
