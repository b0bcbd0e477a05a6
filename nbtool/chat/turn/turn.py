"""A turn: a prompt and its replies, calls and results."""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from nbtool.argument_check import CheckedAttributes, check_arguments
from nbtool.blocks.display_limits import DISPLAY_LIMITS, Limits
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.chain.additions import Additions
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chat.turn import compact
from nbtool.chat.turn.event_queue import EventQueue
from nbtool.chat.turn.pickled_turn import pickled_turn
from nbtool.chat.turn.reply_deltas import with_deltas
from nbtool.chat.turn.thread_switching import switch_sooner_until
from nbtool.chat.turn.waiting_time import WaitingTime
from nbtool.errors import Cancelled
from nbtool.events import (
    DELTAS,
    CallAsked,
    CallFinished,
    Emit,
    EndReason,
    Event,
    Notice,
    ReplyFinished,
    TurnEnded,
    TurnParked,
    TurnStarted,
    TurnStatus,
)
from nbtool.ids import new_id
from nbtool.messages import Citation, Media, Message, ProviderCall, Text, Usage
from nbtool.text import shorten
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop, report_warning, reset_after_fork
from nbtool.tools.approval import Approver, AskFunction
from nbtool.tools.calls.stops import CallStops
from nbtool.turn_state import Call, Stats, TurnState
from nbtool.wire.reply import Reply

if TYPE_CHECKING:
    from nbtool.chat.turn.version_diff import VersionDiff
    from nbtool.plugins.structured import Structured

Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Messages:
    """A turn's native messages: the context before it, the chain that it added, and both."""

    context: tuple[Message, ...] = ()
    chain: tuple[Message, ...] = ()

    @property
    def complete(self) -> tuple[Message, ...]:
        """Context and chain."""
        return self.context + self.chain


@dataclass(eq=False)
class Turn(CheckedAttributes):
    """One turn of a chat.

    Await it, iterate over its events (`async for`), or let `Chat.send` wait; when it has ended, its attributes have the
    result. What its events say is in its `state`.

    A turn that waits for a decision can outlive its cell: its `status` is then `parked`, and it continues automatically
    when the last question is decided. `end_reason` is why it ended without a finished answer.

    `work` runs the turn, once; None for one that has ended before. `approver` may be set until it starts: one that
    answers in a cell needs the turn. `model` is that of a recording once the turn is replayed from it. `error` is that
    of this process: the event of the end has its text.
    """

    prompt: Message
    model: str
    cell_id: str = ""
    turn_id: str = field(default_factory=lambda: new_id("turn"))
    error: BaseException | None = None
    context: tuple[Message, ...] = field(default=(), repr=False)
    state: TurnState = field(default_factory=TurnState, repr=False)
    caller_thread: CallerThread = field(default_factory=CallerThread, repr=False)
    cancel_signal: CancelSignal = field(default_factory=CancelSignal, repr=False)
    call_stops: CallStops = field(default_factory=CallStops, repr=False)
    additions: Additions = field(default_factory=Additions, repr=False)
    done: Future[Turn] = field(default_factory=Future, repr=False)
    log: list[Event] = field(default_factory=list, repr=False)
    event_times: list[float] = field(default_factory=list, repr=False)
    work: Callable[[Turn], Coroutine[Any, Any, None]] | None = field(default=None, repr=False)
    approver: Approver | AskFunction | None = field(default=None, repr=False)
    answer: Structured | None = field(default=None, repr=False)
    difference: VersionDiff | None = field(default=None, repr=False)
    is_rerun: bool = field(default=False, repr=False)
    waiting: WaitingTime = field(init=False, repr=False)
    _emit: Emit | None = field(default=None, repr=False)
    _idle: Future[Turn] = field(default_factory=Future, repr=False)
    _idle_when_asked: dict[str, Future[Turn]] = field(default_factory=dict, repr=False)
    _broken_status: TurnStatus | None = field(default=None, repr=False)
    _kept_value: Any = field(default=None, repr=False)
    _current_deltas: list[Event] = field(default_factory=list, repr=False)
    _listeners: list[Listener] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.waiting = WaitingTime(self.state)

    @property
    def status(self) -> TurnStatus:
        """Whether the turn runs, waits for a decision, or how it ended."""
        return self._broken_status or self.state.status

    @property
    def text(self) -> str:
        """The final reply; of a running or interrupted turn, the latest text."""
        return self.state.text

    @property
    def end_reason(self) -> EndReason:
        """Why it ended without a finished answer; empty if it has one, or if an error explains it."""
        return self.state.end_reason

    @property
    def rounds(self) -> Sequence[Reply]:
        """The replies, in order; the last one may have broken off."""
        return tuple(self.state.replies)

    @property
    def calls(self) -> list[Call]:
        """The calls, in the order of the requests."""
        return self.state.calls

    @property
    def usage(self) -> Usage:
        """The sum over the requests so far."""
        return self.state.usage

    @property
    def stats(self) -> Stats:
        """The counts of the turn."""
        return self.state.stats

    @property
    def messages(self) -> Messages:
        """The messages before the turn, its prompt included, and those that it added."""
        return Messages(self.context, tuple(self.state.chain))

    @property
    def reply_texts(self) -> tuple[Text, ...]:
        """The final reply as later turns get it: `text`, or each phase of the reply as a text of its own."""
        reply = next((reply for reply in reversed(self.rounds) if reply.text.strip()), None)
        texts = [part for part in reply.message.parts if isinstance(part, Text)] if reply else []
        if reply is None or reply.answer != self.text or not any(text.phase for text in texts):
            return (Text(self.text),)  # also of a text that was joined of several replies
        return tuple(replace(text, text=text.text.strip("\n")) for text in texts)

    @property
    def replayed(self) -> dt.date | None:
        """The date of the recording that this turn was replayed from; None if it was not replayed."""
        began = self.state.began
        return dt.date.fromisoformat(began.replayed) if began and began.replayed else None

    @property
    def value(self) -> Any:
        """The answer as a value of the type `as_`; None without `as_`, and if no answer matched the type."""
        return self.answer.value if self.answer else self._kept_value

    @property
    def thinking(self) -> str:
        """The visible reasoning of the model, all rounds together."""
        return "\n\n".join(reply.thinking for reply in self.rounds if reply.thinking)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, sounds and files in the replies, each a target of `$VAR_REF` by its name."""
        parts = (part for message in self.messages.chain if message.role == "assistant" for part in message.parts)
        return tuple(part for part in parts if isinstance(part, Media))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources that the provider names for the replies, each once."""
        return tuple(dict.fromkeys(citation for message in self.messages.chain for citation in message.citations))

    @property
    def provider_calls(self) -> tuple[ProviderCall, ...]:
        """The tools that the provider ran, in order; the calls of the notebook's tools are `calls`."""
        parts = (part for message in self.messages.chain for part in message.parts)
        return tuple(part for part in parts if isinstance(part, ProviderCall))

    @property
    def started(self) -> float | None:
        """The start time of the turn, in seconds since the epoch; None before it starts."""
        return self.state.began.started if self.state.began else None

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None if unknown."""
        return self.usage.cost

    @property
    def cost_is_estimate(self) -> bool:
        """Whether the cost is computed from the tokens, because the provider reports none."""
        return self.usage.is_cost_estimated

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user was told during the turn, in order."""
        return tuple(self.state.notices)

    @property
    def system_hint(self) -> str:
        """The list of tools and references that later turns get."""
        return compact.system_hint(self.calls)

    @property
    def natural_flow(self) -> str:
        """The turn as text with a log block for each call, as later turns get it."""
        flow = compact.natural_flow(self.messages.chain, self.calls)
        return "\n\n".join(filter(None, (flow, self.end_note)))

    @property
    def refusal(self) -> str:
        """The refusal in the final reply; empty if the model did not refuse."""
        return self.rounds[-1].refusal if self.rounds else ""

    @property
    def end_note(self) -> str:
        """The note for later turns why there is no finished answer; empty if there is one."""
        last = self.rounds[-1] if self.rounds else None
        note = compact.end_note(self.end_reason, last.explanation if last else "")
        return note or (compact.BREAK_NOTES.get(self.status, "") if last and last.is_part else "")

    @property
    def content(self) -> str:
        """The compact form of the turn: `system_hint + natural_flow`."""
        return self.system_hint + self.natural_flow

    @property
    def content_texts(self) -> tuple[Text, ...]:
        """The texts that `content` consists of: one, or one for each phase."""
        pieces = compact.flow_pieces(self.messages.chain, self.calls)
        return compact.as_texts(pieces, self.system_hint, self.end_note)

    @property
    def hint_size(self) -> int:
        """The length of the hint at the start of `content`, in characters."""
        return len(self.system_hint)

    def start(self) -> Self:
        """Start the turn on nbtool's background loop; idempotent."""
        if self.work:
            try:
                _started_turns.add(self)
                if not self.caller_thread.is_attached:  # a thread that waits blocks its loop
                    self.caller_thread.caller_loop.note_start()
                self._schedule()
            except KeyboardInterrupt:
                self.cancel()
                self._schedule()  # once more, because it is unknown how far the first got; the turn runs once
                raise
            except BaseException as error:  # the loop is closed: nobody may wait forever
                self._end("error", error)
                raise
        return self

    def _schedule(self) -> None:
        background_loop().call_soon(partial(contextvars.copy_context().run, self._run))

    def _run(self) -> None:
        """Run the work unless it runs; on nbtool's thread, where no interrupt comes between."""
        if self.work:
            work, self.work = self.work, None
            background_loop().submit(work(self)).add_done_callback(self._close)

    def connect(self, emit: Emit) -> None:
        """Set where the turn emits its own events, once it runs."""
        self._emit = emit

    def cancel(self) -> None:
        """Cancel the turn; its content so far is kept. No effect on a turn that has ended."""
        if not self.done.done():
            self.caller_thread.close()  # close first: the loop may not hand over another job
            if self.work is None and not self.cancel_signal.is_set:
                switch_sooner_until(self.done)
            self.cancel_signal.cancel()

    def until_idle(self) -> Future[Turn]:
        """Return a future that is done when the turn has ended or is parked."""
        idle = self._idle = Future()
        self.done.add_done_callback(lambda _: _resolve(idle, self))
        return idle

    async def park(self, digest: str, seconds: float) -> None:
        """Let the cell end while a question is open, for at most `seconds`; on nbtool's background loop.

        The calling thread is released when no call runs on it. From then on synchronous tools run in workers.
        """
        idle = self._idle_when_asked.pop(digest, self._idle)  # not that of a cell which has decided another question
        await self.waiting.wait_thread_free()
        if self._emit:
            await self._emit(TurnParked(digest, time.time() + seconds))
        await self.waiting.wait_thread_free()
        _resolve(idle, self)

    @check_arguments
    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every event from now on, on nbtool's thread; a listener that raises is removed."""
        self._listeners.append(listener)

    def abort(self) -> None:
        """Cancel the turn at once, and interrupt the synchronous call on the calling thread."""
        self.cancel()
        self.caller_thread.interrupt()

    @check_arguments
    def steer(self, text: str) -> None:
        """Add a text to the turn while it runs, from any thread: the model gets it with its next request.

        What is added during the last reply asks the model once more, within the limits of the turn. What the model did
        not get before the turn ended is in `unsent`, and a notice names it.

        Raises:
            BadUsage: the turn has ended or takes no additions, or the text is empty or too long.
        """
        self.additions.add(text)

    @property
    def unsent(self) -> tuple[str, ...]:
        """What `steer` added and the model did not get before the turn ended."""
        return self.additions.unsent

    @check_arguments
    def stop_call(self, call_id: str) -> None:
        """Stop one running call; the turn goes on, and the model reads that the user stopped it.

        An id of no running call has no effect.
        """
        background_loop().call_soon(lambda: self.call_stops.stop(call_id))

    def __await__(self) -> Generator[Any, None, Self]:
        try:
            with self.caller_thread.caller_loop.awaiting():
                yield from asyncio.shield(asyncio.wrap_future(self.done)).__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yield all events, past ones first."""
        inbox = EventQueue()
        background_loop().call_soon(lambda: self.follow(inbox.put))
        with self.caller_thread.caller_loop.awaiting():
            while True:
                event = await inbox.get()
                yield event
                if isinstance(event, TurnEnded):
                    await asyncio.shield(asyncio.wrap_future(self.done))
                    return

    def dispatch(self, event: Event) -> None:
        """Pass an event to every listener; on nbtool's thread only."""
        if type(event) in DELTAS:
            self._current_deltas.append(event)
        else:
            self.event_times.append(time.time())
            self.log.append(event)
        match event:
            case TurnStarted():
                self.model = event.model
            case CallAsked():
                self._idle_when_asked[event.digest] = self._idle
            case CallFinished() if self.state.outlives_cell and self.state.questions and self.state.is_thread_free:
                _resolve(self._idle, self)
            case ReplyFinished():
                self._current_deltas.clear()
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except BaseException as error:  # noqa: BLE001 - a listener must not stop a turn or nbtool's thread
                self._listeners.remove(listener)
                name = getattr(listener, "__qualname__", repr(listener))
                report_warning(f"The listener {name} was removed: {type(error).__name__}: {error}")

    @check_arguments
    def transcript(self, limits: Limits = DISPLAY_LIMITS) -> Transcript:
        """Return the turn as blocks, from its log."""
        transcript = Transcript(limits)
        for event in with_deltas(self.log):
            transcript.feed(event)
        return transcript

    def _close(self, running: Future[None]) -> None:
        if not running.cancelled() and (error := running.exception()):
            self._end("error", error)
        else:
            self._end(self.status if self.state.ended else "cancelled", self.error)

    def _end(self, status: TurnStatus, error: BaseException | None) -> None:
        """Set the final status, and wake everything that waits for the turn."""
        if not self.done.done():
            self._broken_status = None if status == self.state.status else status
            self.error = error
            self.done.set_result(self)

    def follow(self, listener: Listener) -> None:
        """Call `listener` with every event, past ones first; on nbtool's thread only."""
        for event in with_deltas(self.log):
            listener(event)
        for delta in self._current_deltas:
            listener(delta)
        self.add_listener(listener)

    def __getstate__(self) -> dict[str, Any]:
        return pickled_turn(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["prompt"], state["model"])  # type: ignore[misc]  # nothing else makes the fields
        for name, value in state.items():
            setattr(self, name, value)
        self.done.set_result(self)

    def __repr__(self) -> str:
        return f"<Turn {self.turn_id} {self.status}: {shorten(self.text, 60)!r}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        transcript = self.transcript()
        return turn_mimebundle(transcript.document(), transcript.media)


def _resolve(idle: Future[Turn], turn: Turn) -> None:
    if not idle.done():
        idle.set_result(turn)


_started_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def running_turn_ids() -> set[str]:
    """Return the ids of the turns that run in this process."""
    return {turn.turn_id for turn in list(_started_turns) if not turn.done.done()}


def _end_in_child() -> None:
    """End the copies of running turns in a forked child, where nothing else would end them."""
    for turn in list(_started_turns):
        if not turn.done.done():
            turn.caller_thread, turn.done = CallerThread(), Future()  # new: the parent's waiters are not notified
            turn._end("cancelled", Cancelled("The turn continues in the parent process; this is a fork of it."))


reset_after_fork(_end_in_child)
