"""The state of a turn, folded from its events.

A turn that runs, and one that is restored, replayed, exported, mapped or served, is changed by its events, here and
nowhere else. What no event has, such as the object that a tool returned, is set by the code that runs the call.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nbtool.events import (
    BY_NO_DECISION,
    WHOLE_RESULT,
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    CallStatus,
    Emit,
    EndReason,
    Event,
    MessageAppended,
    Notice,
    ReplyFinished,
    RequestStarted,
    ResolvedArgument,
    TurnEnded,
    TurnParked,
    TurnStarted,
    TurnStatus,
    resolve_arguments,
)
from nbtool.messages import Media, Message, Refusal, ToolCall, ToolResult, Usage
from nbtool.text import shorten
from nbtool.wire.reply import Reply

NO_RESULT_YET = "This call had not ended when the turn did: its outcome is unknown."
"""Sent to the model of a call that could not be stopped in time."""


SHOWN_CHARS = 100
"""Maximum characters of each part of a call's representation."""


@dataclass(slots=True, weakref_slot=True, repr=False)
class Call:
    """One call of a turn, and its outcome.

    Args:
        id: the provider's id.
        arguments: as sent by the model.
        edited: JSON of the arguments that a person wrote instead.
        described: the arguments of which `arguments`, or `edited`, does not say what the tool received.
        shown: the text sent to the model.
        images: the images of the result sent to the model.
        media: the media of the result shown to the person.
        table: the first rows of the result shown to the person.
        display: what a notebook would show for the result, for the person.
        reference: the variable with the result.
        qualified_name: the tool's name for a person, if it differs, such as `server.tool`.
        reason: why it has this outcome, for the person.
        traceback: where the user's code failed; never sent to a model.
        whole: what the whole result is, if the model received a part of its text.
        is_described: the model got a description in place of the result.
        inside: the call whose code made this one.
        is_guarded: its result, or that of a call around it, may still be withheld.
        thread: where its tool runs or ran: `main` is the thread that called.
        started: when its tool started, in seconds since the epoch; None if it did not, or in an earlier turn.
        is_announced: the start of a call before it announced that it starts next.
        seconds: from the start of the tool to its end, without the wait for decisions.
        result: the object.
        dead_reference: the variable that had the result in an earlier kernel.
        arguments_reference: the variable with long arguments.
        is_unreadable: the result is a value that was exposed by reference only.
        received_unreadable: the call is a script that received such a result.
        is_from_outside: its text may be that of somebody else than the person and the author of the tool.

    The last six are in no event: they are those of the process in which the call ran.
    """

    call_id: str
    name: str
    arguments: str
    round: int
    id: str = ""
    described: dict[str, ResolvedArgument] = field(default_factory=dict)
    status: CallStatus = "waiting"
    shown: str = ""
    reason: str = ""
    reference: str = ""
    edited: str = ""
    traceback: str = ""
    whole: str = ""
    images: tuple[Media, ...] = ()
    media: tuple[Media, ...] = ()
    media_left_out: int = 0
    table: dict[str, Any] = field(default_factory=dict)
    display: dict[str, str] = field(default_factory=dict)
    is_described: bool = False
    inside: str = ""
    is_guarded: bool = False
    qualified_name: str = ""
    thread: str = ""
    started: float | None = None
    is_announced: bool = False
    seconds: float = 0.0
    decisions: list[CallDecided] = field(default_factory=list)
    result: Any = field(default=None, compare=False)
    dead_reference: str = field(default="", compare=False)
    arguments_reference: str = field(default="", compare=False)
    is_unreadable: bool = field(default=False, compare=False)
    received_unreadable: bool = field(default=False, compare=False)
    is_from_outside: bool = field(default=True, compare=False)

    def __repr__(self) -> str:
        """Return the tool, its arguments, the status, and the text that the model got: never the object itself."""
        name, arguments, text = (
            repr(shorten(part, SHOWN_CHARS))
            for part in (self.display_name, self.edited or self.arguments, self.own_text)
        )
        return f"<Call {name}, arguments {arguments}, {self.status}{f': {text}' if self.shown else ''}>"

    @property
    def has_run(self) -> bool:
        """Whether the call started, in this turn or in one that it continues: of that only the outcome is recorded."""
        return self.started is not None or self.status in ("ok", "error", "withheld", "unknown")

    @property
    def may_have_started(self) -> bool:
        """Whether its tool started, or may have when the kernel was killed."""
        return self.started is not None or self.is_announced

    @property
    def is_open(self) -> bool:
        """Whether the call has no outcome yet."""
        return self.status in ("waiting", "running")

    @property
    def ended(self) -> float | None:
        """When its tool ended, in seconds since the epoch; None if it did not start, or has not ended."""
        return self.started + self.seconds if self.started is not None and not self.is_open else None

    @property
    def is_undecided(self) -> bool:
        """Whether the call was denied, or its result withheld, by nobody's decision."""
        return any(decision.by in BY_NO_DECISION for decision in self.decisions)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name

    @property
    def resolved(self) -> dict[str, ResolvedArgument]:
        """The arguments that ran, as the tool received them."""
        return resolve_arguments(self.edited or self.arguments, self.described)

    @property
    def result_name(self) -> str:
        """The name by which references address the result, or addressed it in an earlier kernel."""
        return self.reference or self.dead_reference

    @property
    def own_text(self) -> str:
        """The text sent to the model without the line that names the variable of a complete result."""
        return self.shown.removesuffix(WHOLE_RESULT.format(name=self.result_name))

    def apply(self, event: Event) -> None:
        """Change the call by one of its events."""
        match event:
            case CallReady():
                self.described, self.edited, self.inside = dict(event.described), event.edited, event.inside
                self.qualified_name = event.qualified_name
            case CallAsked():
                self.status, self.is_announced = "waiting", False
            case CallDecided():
                self.decisions.append(event)
            case CallStarted():
                self.status, self.started, self.thread = "running", event.started, event.thread
                self.edited, self.is_guarded = event.edited, event.guarded
                self.described = {**({} if event.edited else self.described), **event.described}
            case CallFinished():
                self._finish(event)
            case _:
                pass

    def _finish(self, event: CallFinished) -> None:
        """Take over an outcome; a call that did not run has no start, although its thread was requested."""
        self.status, self.shown, self.reason = event.status, event.shown, event.reason
        self.started, self.thread = (None, "") if event.status == "not_run" else (self.started, self.thread)
        self.is_announced = False
        self.reference, self.whole, self.traceback = event.reference, event.whole, event.traceback
        self.media, self.media_left_out = event.media, event.media_left_out
        self.table, self.display = event.table, event.display
        self.seconds, self.is_described = event.seconds, event.is_described
        self.qualified_name, self.inside = event.qualified_name, event.inside or self.inside

    def finished(self) -> CallFinished:
        """Return the event of the outcome."""
        return CallFinished(
            call_id=self.call_id,
            name=self.name,
            round=self.round,
            status=self.status,
            shown=self.shown,
            reason=self.reason,
            reference=self.reference,
            seconds=self.seconds,
            media=self.media,
            media_left_out=self.media_left_out,
            traceback=self.traceback,
            table=self.table,
            display=self.display,
            qualified_name=self.qualified_name,
            whole=self.whole,
            is_described=self.is_described,
            inside=self.inside,
        )

    def to_result(self) -> ToolResult:
        """Return the result sent to the model; a withheld result is not an error."""
        is_error = self.status not in ("ok", "withheld")
        text = self.shown or NO_RESULT_YET
        return ToolResult(self.name, text, self.id, self.call_id, is_error, self.images)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a turn; `seconds` is its total duration, including the time it waited for decisions."""

    rounds: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class TurnState:
    """What the events of a turn say so far.

    Args:
        began: its first event.
        ended: its last event.
        replies: in order, also one that broke off.
        chain: the messages that the turn has added.
        calls: in the order of the model's requests; those that a call made follow those of their round.
        questions: the ids of the calls with an open question, by its digest, oldest first.
        running: the calls whose tools run, by their ids.
        outlives_cell: it was parked: it goes on, or went on, after its cell had ended.
    """

    began: TurnStarted | None = None
    ended: TurnEnded | None = None
    replies: list[Reply] = field(default_factory=list)
    chain: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    questions: dict[str, str] = field(default_factory=dict)
    running: dict[str, Call] = field(default_factory=dict, compare=False)
    outlives_cell: bool = False
    _rounds: int = 0
    _by_id: dict[str, Call] = field(default_factory=dict, repr=False, compare=False)
    _requested: dict[str, tuple[int, ToolCall]] = field(default_factory=dict, repr=False, compare=False)
    _approvals: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def status(self) -> TurnStatus:
        """Whether the turn runs, waits for a decision, or how it ended."""
        if self.ended:
            return self.ended.status
        if not self.questions:
            return "running"
        return "parked" if self.outlives_cell else "waiting"

    @property
    def is_waiting(self) -> bool:
        """Whether the turn only waits for decisions: no call is running."""
        return bool(self.questions) and not self.running

    @property
    def is_thread_free(self) -> bool:
        """Whether no call runs on the thread that called."""
        return not any(call.thread == "main" for call in self.running.values())

    @property
    def text(self) -> str:
        """The final reply; of a running or interrupted turn, the latest text."""
        final = self.ended.text if self.ended else ""
        return final or next((reply.answer for reply in reversed(self.replies) if reply.text.strip()), "")

    @property
    def end_reason(self) -> EndReason:
        """Why the turn ended without a finished answer."""
        return self.ended.end_reason if self.ended else ""

    @property
    def usage(self) -> Usage:
        """The sum over the requests so far."""
        return self.ended.usage if self.ended else sum((reply.usage for reply in self.replies), Usage())

    @property
    def stats(self) -> Stats:
        """The counts of the turn; of one that runs, those so far, without its seconds."""
        if self.ended:
            return Stats(self.ended.rounds, self.ended.calls, self.ended.seconds)
        return Stats(self._rounds, len(self.calls))

    @property
    def open_calls(self) -> list[Call]:
        """The calls without an outcome."""
        return [call for call in self.calls if call.is_open]

    def apply(self, event: Event) -> None:
        """Change the state by the next event; none may follow the last one."""
        if self.ended is None and (change := _CHANGES.get(type(event))):
            change(self, event)

    def call(self, call_id: str) -> Call | None:
        """Return the call with this id."""
        return self._by_id.get(call_id)

    def recorded(self, emit: Emit) -> Emit:
        """Return `emit` with each event applied to this state, before it is emitted."""

        def apply_and_emit(event: Event) -> Awaitable[None]:
            self.apply(event)
            return emit(event)

        return apply_and_emit

    def open_call(self, call: ToolCall, round: int) -> Call:
        """Add a call that is about to run, without an event yet."""
        return self.add_call(Call(call.call_id, call.name, call.arguments, round, call.id))

    def add_call(self, call: Call) -> Call:
        """Add a call in the order of the requests, in place of one with its id."""
        if former := self._by_id.get(call.call_id):
            self.calls[self.calls.index(former)] = call
        else:
            insort(self.calls, call, key=self._position)
        self._by_id[call.call_id] = call
        return call

    def without_results(self) -> TurnState:
        """Return the state without the objects that the calls returned."""
        calls = [replace(call, result=None) for call in self.calls]
        return replace(self, calls=calls, running={}, _by_id={call.call_id: call for call in calls})

    def _position(self, call: Call) -> tuple[int, float]:
        return call.round, self._requested[call.call_id][0] if call.call_id in self._requested else inf

    def _begin(self, event: TurnStarted) -> None:
        self.began = event

    def _end(self, event: TurnEnded) -> None:
        self.ended = event

    def _park(self, _: TurnParked) -> None:
        self.outlives_cell = True

    def _count_round(self, _: RequestStarted) -> None:
        self._rounds += 1

    def _add_notice(self, event: Notice) -> None:
        self.notices.append(event)

    def _add_reply(self, event: ReplyFinished) -> None:
        refusal = "".join(part.text for part in event.message.parts if isinstance(part, Refusal))
        outcome = (event.stop_reason, event.finish_reason, event.usage, event.complete)
        self.replies.append(Reply(event.message, *outcome, refusal, event.explanation))
        for call in event.message.calls:
            self._requested[call.call_id] = (len(self._requested), call)

    def _add_message(self, event: MessageAppended) -> None:
        message = event.message or (self.replies[-1].message if self.replies else None)
        if message is None:  # of a file that somebody else wrote
            return
        self.chain.append(message)
        for result in message.results:
            if call := self._by_id.get(result.call_id):
                call.images = result.media

    def _change_call(self, event: CallReady | CallAsked | CallDecided | CallStarted | CallFinished) -> None:
        call = self._by_id.get(event.call_id)
        if call is None and isinstance(event, CallReady | CallFinished) and self._is_own(event):
            call = self.add_call(self._requested_call(event))
        if call:
            call.apply(event)
            if call.status == "running":
                self.running[call.call_id] = call
            else:
                self.running.pop(call.call_id, None)

    def _start_call(self, event: CallStarted) -> None:
        self._change_call(event)
        for call_id in event.announces:
            if announced := self._by_id.get(call_id):
                announced.is_announced = True

    def _is_own(self, event: CallReady | CallFinished) -> bool:
        return not event.forwarded and event.call_id not in self._approvals

    def is_as_requested(self, call: Call) -> bool:
        """Whether the arguments of a call are those that its reply has for it."""
        _, requested = self._requested.get(call.call_id, (0, None))
        return requested is not None and requested.arguments == call.arguments

    def _requested_call(self, event: CallReady | CallFinished) -> Call:
        _, requested = self._requested.get(event.call_id, (0, None))
        arguments = requested.arguments if requested and not event.arguments else event.arguments
        return Call(event.call_id, event.name, arguments, event.round, requested.id if requested else "")

    def _ask(self, event: CallAsked) -> None:
        self.questions = {**self.questions, event.digest: event.call_id}  # a new one: other threads iterate over it
        if event.call_id not in self._by_id:  # a plugin asks, not a call
            self._approvals.add(event.call_id)
        self._change_call(event)

    def _decide(self, event: CallDecided) -> None:
        self.questions = {digest: call for digest, call in self.questions.items() if digest != event.digest}
        self._change_call(event)

    def _finish_call(self, event: CallFinished) -> None:
        self.questions = {digest: call_id for digest, call_id in self.questions.items() if call_id != event.call_id}
        self._change_call(event)


_CHANGES: Mapping[type, Callable[[TurnState, Any], None]] = {
    TurnStarted: TurnState._begin,
    RequestStarted: TurnState._count_round,
    ReplyFinished: TurnState._add_reply,
    MessageAppended: TurnState._add_message,
    CallReady: TurnState._change_call,
    CallAsked: TurnState._ask,
    CallDecided: TurnState._decide,
    CallStarted: TurnState._start_call,
    CallFinished: TurnState._finish_call,
    TurnParked: TurnState._park,
    Notice: TurnState._add_notice,
    TurnEnded: TurnState._end,
}
"""What each event changes; the deltas of a reply change nothing until it is finished."""


def fold(events: Iterable[Event]) -> TurnState:
    """Return the state of a turn after these events."""
    state = TurnState()
    for event in events:
        state.apply(event)
    return state


def without_native(messages: Iterable[Message]) -> list[Message]:
    """Return messages without the forms in which their providers sent them."""
    return [replace(message, native=None) for message in messages]
