"""The answers of a map, and the interface of what gives them from elsewhere than this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.events import CallDecided, EndReason, Event
from nbtool.messages import Message
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools.approval import BY_ERROR, BY_NO_DECISION


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one prompt: its `value` or its `error`; `is_cached` if it comes from the journal.

    `label` is the label of its row, `index` counts from 0. A prompt that was never sent has no turn and no `turn_id`;
    with `keep="values"` it has only the id, by which `%chat show` and `%chat explore` find the turn. An answer with
    `has_undecided_calls`, of which one was denied, or its result withheld, because nobody could be asked or the
    approver failed, is not reused; `approver_error` says how it failed. With `has_acted`, a call had started and there
    is no answer to reuse: a later map does not send the prompt from its beginning. `end_reason` is why its turn ended
    without a finished answer, such as a limit. With `has_unknown_calls` the outcome of a call is not known: a later map
    refuses the prompt.
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
    has_acted: bool = field(default=False, repr=False)
    end_reason: EndReason = field(default="", repr=False)
    has_unknown_calls: bool = field(default=False, repr=False)


def has_undecided_calls(events: Iterable[Event]) -> bool:
    """Whether a turn had a call that was denied, or its result withheld, by nobody's decision."""
    return any(isinstance(event, CallDecided) and event.by in BY_NO_DECISION for event in events)


def approver_error(events: Iterable[Event]) -> str:
    """Return how an approver failed in a turn, the first time; empty if none did."""
    return next((event.reason for event in events if isinstance(event, CallDecided) and event.by == BY_ERROR), "")


@dataclass(frozen=True, slots=True)
class AnswerPort:
    """Where a source of answers puts them, on nbtool's background loop.

    Once there is a `stop_reason`, prompts that were not sent get it as their error; `refuse_rest` gives one.
    Questions to the user are asked on the `caller_thread`, as those of a turn here are. `continued` are the versions of
    turns that go on, by the keys of their prompts, the latest first. `note` shows how far a provider is.
    """

    add: Callable[[Answer], None]
    stop_reason: Callable[[], NbtoolError | None]
    refuse_rest: Callable[[NbtoolError], None]
    caller_thread: CallerThread
    continued: Mapping[str, Sequence[Turn]] = field(default_factory=dict)
    note: Callable[[str], None] = lambda _: None


class AnswerSource(Protocol):
    """Answers prompts elsewhere than in this process."""

    async def answer(self, prompts: Sequence[tuple[PromptItem, str]], port: AnswerPort) -> None:
        """Answer all prompts, each with its key, in any order."""

    def stop(self) -> None:
        """Begin no further prompt, and cancel the running ones; on nbtool's background loop."""

    async def clean_up(self) -> None:
        """Forget elsewhere what is answered and stored here."""

    @property
    def remains(self) -> Sequence[str]:
        """What remains elsewhere after that, in words."""
