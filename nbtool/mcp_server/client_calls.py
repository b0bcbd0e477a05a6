"""The calls of one client: each is a turn of the client's chat, and meets the gates of the notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nbtool.audience import Hide, for_audience
from nbtool.chat.chat import Chat, TurnSettings
from nbtool.chat.model import Model
from nbtool.chat.turn import Turn
from nbtool.errors import AlreadyDecided, BadUsage
from nbtool.event_filter import EventFilter
from nbtool.events import CallProgress, CallStatus, Event
from nbtool.mcp_server.endpoint import RETURNED, ClientEndpoint
from nbtool.mcp_server.totals import ClientTotals
from nbtool.messages import ToolResult
from nbtool.policy import site_policy
from nbtool.text import count_of
from nbtool.tools.approval import BY_NOBODY, ApprovalQueue, Question, Undecided
from nbtool.tools.calls.site_rules import error_text
from nbtool.wire.framing.known_secrets import hide_secrets

MAX_WAITING = 16
"""Maximum number of calls of one client that run or wait at a time; a further one is refused."""

ANSWER_SECONDS = 300.0
"""How long a question of a client's call stays open, unless set otherwise; clients give up after minutes."""

NOBODY = "Nobody can be asked in this notebook (no page, no terminal), so the call was denied."
UNANSWERED = "Nobody answered within {seconds:g} s."
BUSY = "{calls} of this client already run or wait for approval in the notebook, which is the limit."
STOPPED = "The notebook stopped serving."
WITHOUT_RESULT = "The call has no result: {reason}"

CLOSINGS: dict[CallStatus, str] = {
    "ok": RETURNED,
    "denied": "{client} was told that the call was denied.",
    "withheld": "{client} was told that the result was withheld.",
}
"""The last sentence of a turn by what came of its call."""

FAILED = "{client} was told why the call has no result."

ReportProgress = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call returns to its client; `kept_as` is the variable with the result, if there is one."""

    result: ToolResult
    kept_as: str = ""


class TurnView(Protocol):
    """Shows the turns of clients."""

    def show(self, turn: Turn, chat: Chat, client: str) -> None:
        """Show a turn that is about to start; it calls no tool before this returns."""

    def can_ask(self) -> bool:
        """Return whether somebody could answer a question now or later."""


@dataclass(slots=True)
class ClientApprover:
    """The approver of a client's turn: a click or a command decides, as long as somebody can be asked."""

    approvals: ApprovalQueue
    view: TurnView
    seconds: float = ANSWER_SECONDS
    name: str = "click"

    async def ask(self, question: Question) -> Undecided:
        """Leave the question in the queue, and deny it when its time is over."""
        if not self.view.can_ask():
            with suppress(AlreadyDecided):
                self.approvals.decide(question.digest, question.denial(NOBODY), by=BY_NOBODY)
            return Undecided()
        await asyncio.sleep(self.seconds)
        with suppress(AlreadyDecided):
            self.approvals.expire(question.digest, UNANSWERED.format(seconds=self.seconds))
        return Undecided()


@dataclass(slots=True)
class Client:
    """One client: its name, its chat, and its calls.

    `refresh` updates the chat's tools to what the notebook defines now; `running` bounds how many calls of all clients
    run at a time. `totals` count its calls and what it received.
    """

    name: str
    chat: Chat
    view: TurnView
    refresh: Callable[[Chat], None]
    answer_seconds: float = ANSWER_SECONDS
    running: asyncio.Semaphore = field(default_factory=asyncio.Semaphore)
    totals: ClientTotals = field(default_factory=ClientTotals)
    waiting: int = 0
    _has_stopped: bool = False
    _waits: set[Future[None]] = field(default_factory=set, repr=False)
    _starting: threading.Lock = field(default_factory=threading.Lock, repr=False)

    async def call(self, tool: str, arguments: Mapping[str, Any], report: ReportProgress | None = None) -> Answer:
        """Run one call as a turn and return what a model would have received for it.

        Cancelling this cancels the turn.

        Raises:
            BadUsage: too many calls are under way, or the notebook stopped serving.
        """
        if self.waiting >= MAX_WAITING:
            self.totals.refused += 1
            raise BadUsage(
                BUSY.format(calls=count_of(self.waiting, "call")), fix="Call again when one of them has ended."
            )
        self.waiting += 1
        try:
            async with self.running:
                return await self._run(tool, arguments, report)
        finally:
            self.waiting -= 1

    def stop(self) -> None:
        """Refuse further calls, and answer those under way that the notebook stopped serving."""
        with self._starting:
            self._has_stopped = True
            waits = tuple(self._waits)
        for waiting in waits:
            _end_wait(waiting)

    def _require_serving(self) -> None:
        if self._has_stopped:
            raise BadUsage(STOPPED)

    async def _run(self, tool: str, arguments: Mapping[str, Any], report: ReportProgress | None) -> Answer:
        endpoint = ClientEndpoint(self.name, tool, arguments)
        turn, waiting = self._compose(endpoint, tool), Future[None]()
        endpoint.closing = lambda: CLOSINGS.get(_status(turn, tool), FAILED)
        if report:
            turn.add_listener(_progress_listener(report, self._hide))
        with self._starting:
            if self._has_stopped:  # while the call waited for others
                self.totals.refused += 1
                raise BadUsage(STOPPED)
            self._waits.add(waiting)
        self.view.show(turn, self.chat, self.name)
        turn.done.add_done_callback(lambda _: _end_wait(waiting))
        turn.start()
        try:
            await asyncio.shield(asyncio.wrap_future(waiting))
            self._require_serving()
        except (asyncio.CancelledError, BadUsage):
            turn.cancel()
            self.totals.add(tool, arguments, "cancelled", None)
            raise
        finally:
            with self._starting:
                self._waits.discard(waiting)
        received = endpoint.result or ToolResult(tool, _reason(turn, tool), is_error=True)
        result = for_audience(received, "client", hide=hide_secrets)
        self.totals.add(tool, arguments, _status(turn, tool), result)
        return Answer(result, _result_name(turn))

    def _hide(self, text: str) -> str:
        """Return a text as the plugins of the chat and the known secrets let it leave."""
        for plugin in self.chat.plugins:
            if mask := getattr(plugin, "mask_text", None):
                text = mask(text)
        return hide_secrets(text)

    def _compose(self, endpoint: ClientEndpoint, tool: str) -> Turn:
        with self._starting:
            self.refresh(self.chat)
            self.chat.model = Model(self.name, wire=endpoint)
            approver = ClientApprover(self.chat.approvals, self.view, self.answer_seconds)
            limits = replace(self.chat.limits, max_rounds=3)  # the call, its result, and no last request without tools
            settings = TurnSettings(append=True, limits=limits, replay="off", recipient=self.name, typed="")
            turn = self.chat.compose(f"{self.name} calls {tool}.", settings=settings, approver=approver)
        return turn


def _end_wait(waiting: Future[None]) -> None:
    with suppress(InvalidStateError):  # its turn has ended, or the notebook stopped serving
        waiting.set_result(None)


def _status(turn: Turn, tool: str) -> CallStatus:
    """Return what came of a call; `not_run` where the turn ended before it."""
    return next((call.status for call in turn.calls if call.name == tool), "not_run")


def _reason(turn: Turn, tool: str) -> str:
    """Return why a call has no result that may be sent."""
    record = next((call for call in turn.calls if call.name == tool), None)
    return WITHOUT_RESULT.format(
        reason=(turn.error and _error_line(turn.error)) or (record.shown if record else "") or turn.status
    )


def _error_line(error: BaseException) -> str:
    """Return the text of an error of nbtool, and of any other what the administrator's policy lets leave."""
    return str(error) if site_policy().values_may_leave else error_text(error)


def _result_name(turn: Turn) -> str:
    """Return the variable with the result of a call that may be handed on."""
    return next((call.reference for call in turn.calls if call.status == "ok"), "")


def _progress_listener(report: ReportProgress, hide: Hide) -> Callable[[Event], None]:
    """Return a listener that reports the progress of a call; of one whose result may be withheld, the fraction only."""
    shown_events = EventFilter("client", hide)

    def listen(event: Event) -> None:
        shown = shown_events.feed(event)
        if isinstance(shown, CallProgress):
            report(shown.text, shown.fraction)

    return listen
