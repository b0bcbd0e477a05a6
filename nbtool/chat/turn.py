"""A turn: what a person gets back for what they said."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from nbtool.blocks.limits import DISPLAY_LIMITS, Limits
from nbtool.blocks.mimebundle import turn_mimebundle
from nbtool.blocks.transcript import Transcript
from nbtool.chain.limits import CancelSignal
from nbtool.chat import compact
from nbtool.chat.event_queue import EventQueue
from nbtool.chat.pending import PendingQuestions
from nbtool.errors import Cancelled
from nbtool.events import (
    DELTAS,
    CallAsked,
    CallDecided,
    CallFinished,
    Emit,
    EndReason,
    Event,
    MediaDelta,
    RefusalDelta,
    ReplyFinished,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnParked,
    TurnStarted,
    TurnStatus,
)
from nbtool.loop import CallerThread, background_loop, reset_after_fork
from nbtool.messages import Media, Message, Refusal, Text, Thinking, Usage, new_id
from nbtool.shorten import shorten

if TYPE_CHECKING:
    from nbtool.chain.turn import Outcome
    from nbtool.chat.edits import VersionDiff
    from nbtool.plugins.structured import Structured
    from nbtool.tools.approval import Approver
    from nbtool.tools.calls.run import CallRecord
    from nbtool.wire.reply import Reply

Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a turn was: `seconds` is its whole length, waiting for a person included."""

    rounds: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Messages:
    """A turn's native messages: what came before, what the turn added, and both."""

    context: tuple[Message, ...] = ()
    chain: tuple[Message, ...] = ()

    @property
    def complete(self) -> tuple[Message, ...]:
        """Context and chain."""
        return self.context + self.chain


@dataclass(eq=False)
class Turn:
    """One turn of a chat.

    It is on its way from the moment it exists. Await it, iterate over its events (`async for`), or let `Chat.send`
    wait; when it has ended, the result stands in its attributes. `calls` are records, in the order asked for.

    A turn that a person has to answer can outlive its cell: its `status` is then `parked`, and it goes on by itself
    when the last question is decided. `end_reason` says why it ended without a finished answer.
    """

    prompt: Message
    model: str
    cell_id: str = ""
    turn_id: str = field(default_factory=lambda: new_id("turn"))
    status: TurnStatus = "running"
    error: BaseException | None = None
    end_reason: EndReason = ""
    messages: Messages = field(default_factory=Messages)
    rounds: Sequence[Reply] = ()
    usage: Usage = field(default_factory=Usage)
    stats: Stats = field(default_factory=Stats)
    calls: list[CallRecord] = field(default_factory=list)
    caller_thread: CallerThread = field(default_factory=CallerThread, repr=False)
    cancel_signal: CancelSignal = field(default_factory=CancelSignal, repr=False)
    done: Future[Turn] = field(default_factory=Future, repr=False)
    log: list[Event] = field(default_factory=list, repr=False)
    event_times: list[float] = field(default_factory=list, repr=False)
    work: Callable[[], Coroutine[Any, Any, None]] | None = field(default=None, repr=False)
    approver: Approver | None = field(default=None, repr=False)
    answer: Structured | None = field(default=None, repr=False)
    difference: VersionDiff | None = field(default=None, repr=False)
    is_rerun: bool = field(default=False, repr=False)
    emit: Emit | None = field(default=None, repr=False)
    parking: PendingQuestions = field(default_factory=PendingQuestions, repr=False)
    _idle: Future[Turn] = field(default_factory=Future, repr=False)
    _text: str = field(default="", repr=False)
    _current_deltas: list[Event] = field(default_factory=list, repr=False)
    _listeners: list[Listener] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        """The final reply; while the turn runs, or when it broke off, what came last."""
        return self._text or next((reply.text for reply in reversed(self.rounds) if reply.text.strip()), "")

    @property
    def replayed(self) -> dt.date | None:
        """When the turn was recorded that this one was told from; None where a model was asked."""
        began = next((event for event in self.log if isinstance(event, TurnStarted)), None)
        return dt.date.fromisoformat(began.replayed) if began and began.replayed else None

    @property
    def value(self) -> Any:
        """The answer as the type that `as_` asked for; None without one, and where no answer fitted it."""
        return self.answer.value if self.answer else None

    @property
    def thinking(self) -> str:
        """What the model thought aloud, all rounds together."""
        return "\n\n".join(reply.thinking for reply in self.rounds if reply.thinking)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, sounds and files that the replies brought, each a target of `$VAR_REF` by its name."""
        parts = (part for message in self.messages.chain if message.role == "assistant" for part in message.parts)
        return tuple(part for part in parts if isinstance(part, Media))

    @property
    def started(self) -> float | None:
        """When the turn began, in seconds since the epoch; None while it has not."""
        return next((event.started for event in self.log if isinstance(event, TurnStarted)), None)

    @property
    def system_hint(self) -> str:
        """Which tools ran and where their results are, as later turns are told."""
        return compact.system_hint(self.calls)

    @property
    def natural_flow(self) -> str:
        """The turn as text with a log block for each call, as later turns are told."""
        flow = compact.natural_flow(self.messages.chain, self.calls)
        return "\n\n".join(filter(None, (flow, self.end_note)))

    @property
    def refusal(self) -> str:
        """What the model said in its final reply in place of an answer; empty where it did not refuse."""
        return self.rounds[-1].refusal if self.rounds else ""

    @property
    def end_note(self) -> str:
        """Why the turn has no finished answer, as later turns are told; empty where it has one."""
        return compact.end_note(self.end_reason, self.rounds[-1].explanation if self.rounds else "")

    @property
    def content(self) -> str:
        """The compact form of the turn: `system_hint + natural_flow`."""
        return self.system_hint + self.natural_flow

    @property
    def hint_size(self) -> int:
        """Where the hint ends in `content`, in characters."""
        return len(self.system_hint)

    def start(self) -> Self:
        """Set the turn going on nbtool's own loop; a second time changes nothing."""
        if self.work:
            work, self.work = self.work(), None
            _started_turns.add(self)
            running = background_loop().submit(work)
            running.add_done_callback(self._close)
        return self

    def cancel(self) -> None:
        """Stop the turn; what came so far is kept. A turn that has ended is not touched."""
        if not self.done.done():
            self.caller_thread.close()  # the loop hears of it only after this thread has taken the next job
            self.cancel_signal.cancel()

    def until_idle(self) -> Future[Turn]:
        """Give what is done when the turn has ended or been parked: whoever waits may go then."""
        idle = self._idle = Future()
        self.done.add_done_callback(lambda _: _resolve(idle, self))
        return idle

    async def park(self, digest: str, seconds: float) -> None:
        """Let the cell end while a question waits, for `seconds` at most; on nbtool's own loop.

        The thread that waits is let go when no call runs on it. From then on synchronous tools run in workers.
        """
        idle = self._idle  # another cell may wait by the time that this one is told
        await self.parking.wait_thread_free()
        if self.emit:
            await self.emit(TurnParked(digest, time.time() + seconds))
        await self.parking.wait_thread_free()
        _resolve(idle, self)

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every event from now on, on nbtool's own thread; one that raises is dropped."""
        self._listeners.append(listener)

    def abort(self) -> None:
        """Stop the turn at once: also the synchronous call that the waiting thread runs for it."""
        self.cancel()
        self.caller_thread.interrupt()

    def __await__(self) -> Generator[Any, None, Self]:
        try:
            yield from asyncio.shield(asyncio.wrap_future(self.done)).__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Give the events as they happen, those that already happened first."""
        inbox = EventQueue()
        background_loop().call_soon(lambda: self.follow(inbox.put))
        while True:
            event = await inbox.get()
            yield event
            if isinstance(event, TurnEnded):
                await asyncio.shield(asyncio.wrap_future(self.done))
                return

    def dispatch(self, event: Event) -> None:
        """Pass an event on to every listener; called on nbtool's own thread only."""
        if type(event) in DELTAS:
            self._current_deltas.append(event)
        else:
            self._record(event)
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except BaseException as error:  # noqa: BLE001 - a listener never stops a turn, nor nbtool's own thread
                self._listeners.remove(listener)
                name = getattr(listener, "__qualname__", repr(listener))
                warnings.warn(f"The listener {name} was dropped: {type(error).__name__}: {error}", stacklevel=2)

    def _record(self, event: Event) -> None:
        self.event_times.append(time.time())
        self.log.append(event)
        self.parking.record(event)
        match event:
            case CallAsked() | CallDecided() | CallFinished() | TurnParked():
                self.status = self.parking.status
                if isinstance(event, CallFinished) and self.parking.is_idle:
                    _resolve(self._idle, self)
            case ReplyFinished():
                self._current_deltas.clear()

    def finish(self, outcome: Outcome, context: Sequence[Message], chain: Sequence[Message]) -> None:
        """Take over what came of the turn."""
        ended = next(event for event in reversed(self.log) if isinstance(event, TurnEnded))
        self.status, self.error, self._text = outcome.status, outcome.error, outcome.text
        self.end_reason = ended.end_reason
        self.messages = Messages(tuple(context), tuple(chain))
        self.rounds = tuple(outcome.rounds)
        self.usage = ended.usage
        self.stats = Stats(ended.rounds, ended.calls, ended.seconds)

    def transcript(self, limits: Limits = DISPLAY_LIMITS) -> Transcript:
        """Fold the turn into blocks, from its log."""
        transcript = Transcript(limits)
        for event in self.log:
            for delta in _as_deltas(event):
                transcript.feed(delta)
            transcript.feed(event)
        return transcript

    def _close(self, running: Future[None]) -> None:
        if not running.cancelled() and (error := running.exception()):
            self.status, self.error = "error", error
        elif self.status in ("running", "waiting", "parked"):
            self.status = "cancelled"
        self.done.set_result(self)

    def follow(self, listener: Listener) -> None:
        """Call `listener` with every event, those that already happened first; on nbtool's own thread only."""
        for event in self.log:
            for delta in _as_deltas(event):
                listener(delta)
            listener(event)
        for delta in self._current_deltas:
            listener(delta)
        self.add_listener(listener)

    def __repr__(self) -> str:
        return f"<Turn {self.turn_id} {self.status}: {shorten(self.text, 60)!r}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        transcript = self.transcript()
        return turn_mimebundle(transcript.document(), transcript.media)


def _as_deltas(event: Event) -> list[Event]:
    """Give a finished reply's prose and media as deltas again, for a fold that comes late."""
    deltas: list[Event] = []
    for part in event.message.parts if isinstance(event, ReplyFinished) else ():
        match part:
            case Text():
                deltas.append(TextDelta(part.text))
            case Thinking():
                deltas.append(ThinkingDelta(part.text))
            case Refusal():
                deltas.append(RefusalDelta(part.text))
            case Media():
                deltas.append(MediaDelta(part))
    return deltas


def _resolve(idle: Future[Turn], turn: Turn) -> None:
    if not idle.done():
        idle.set_result(turn)


_started_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _end_in_child() -> None:
    """End the copies of turns that run in the process that was forked: here nothing would ever end them."""
    for turn in list(_started_turns):
        if not turn.done.done():
            turn.status = "cancelled"
            turn.error = Cancelled("The turn goes on in the process that began it; this is a fork of that process.")
            turn.caller_thread, turn.done = CallerThread(), Future()  # nobody hears of it who listened there
            turn.done.set_result(turn)


reset_after_fork(_end_in_child)
