"""Replay a recorded turn: its events are emitted again, without requests to a model and without delays.

Calls are replayed from the record. Only a call whose result is an object, which later cells may need, runs again:
without approval if its tool needs none, and its result is released if it is unchanged; otherwise the user is asked for
approval. If such a call does not run again, or its result differs, the turn reports it and continues; one that is
denied then, or whose result is withheld, has that outcome.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chat.recording.file import RecordedCall
from nbtool.chat.turn import Turn
from nbtool.chat.turn.reply_deltas import reply_deltas
from nbtool.clock import monotonic
from nbtool.errors import BadUsage, InvalidAnswer, NotRecorded
from nbtool.events import (
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Emit,
    Event,
    Notice,
    ReplyEnd,
    ReplyFinished,
    RequestStarted,
    TurnEnded,
    TurnStatus,
)
from nbtool.messages import Media, Message, ToolCall, Usage
from nbtool.tools.approval import BY_NOBODY, Approver, Question, Released
from nbtool.tools.calls.approval_request import deny_without_approver
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.repeats import DECIDED
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.calls.site_rules import asks_person
from nbtool.tools.tool import Tool
from nbtool.tools.tool_views import find_tool
from nbtool.tools.toolset import Toolset
from nbtool.turn_state import Call, TurnState

REPLAYED_FROM = "Replayed from {date}: no request was sent."
KEPT_FROM = "Kept answer of {date}: no request was sent. Run the cell again to ask the model."
RESULT_CHANGED = "`{name}` ran again and its result differs from the recorded one; the reply is from {date}."
NO_RERUN = (
    "`{name}` did not run again ({why}); the reply is as recorded, but $VAR_REF{{{{{reference}}}}} does not exist."
)
UNAPPROVED = "`{name}` has to run again for its result, and did not: {why}"
NO_TOOL = "the tool does not exist"
NOT_REPLAYED = "The replay ended before the outcome of this call."


class _Stopped(Exception):
    """The user cancelled the turn while a call ran again."""


@dataclass(slots=True)
class Replay:
    """The replay of one recorded turn; `notice` says so, `context` are the messages before its reply.

    Where no model is asked (`is_only`), it ends with an error at a call that nobody can approve here: in a notebook
    that is run as a whole, a later cell would miss its result.
    """

    turn: Turn
    date: str
    notice: str
    events: Sequence[Event]
    calls: Mapping[str, RecordedCall]
    context: Sequence[Message]
    runtime: ToolRuntime
    emit: Emit
    is_only: bool = False
    _start: float = field(default_factory=monotonic)
    _finished: dict[str, CallFinished] = field(default_factory=dict)
    _replies: dict[int, ReplyFinished] = field(default_factory=dict)
    _decided: dict[str, list[CallDecided]] = field(default_factory=dict)
    _rerun_ids: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Emit the events of the turn as recorded."""
        self._collect_outcomes()
        self.turn.context = tuple(self.context)
        try:
            await self.emit(Notice(self.notice.format(date=self.date), topic="aside"))
            for event in self.events:
                await self._emit_recorded(event)
            if self.turn.answer:
                with suppress(InvalidAnswer):
                    self.turn.answer.parse(self.turn.text)
        except _Stopped:
            await self._break_off("cancelled")
        except Exception as error:  # noqa: BLE001 - untrusted input: every turn has to end
            self.turn.error = error
            await self._break_off("error", str(error))

    async def _break_off(self, status: TurnStatus, error: str = "") -> None:
        """End the turn early, and every call in it."""
        for call in self.turn.state.open_calls:
            await self.emit(replace(call.finished(), status="not_run", shown=NOT_REPLAYED, reason=NOT_REPLAYED))
        await self.emit(self._end_event(status, error=error))

    async def _emit_recorded(self, event: Event) -> None:
        if getattr(event, "call_id", "") in self._rerun_ids:
            return  # it ran again and has emitted its own events
        match event:
            case RequestStarted():
                await self.emit(replace(event, given=True))
                await self._emit_reply(event.round)
            case ReplyFinished():
                self._keep_media(event.message)
                await self.emit(replace(event, usage=Usage(), seconds=0.0))
            case CallReady() if self.calls.get(event.call_id, RecordedCall()).again:
                await self._rerun_call(event)
            case CallFinished():
                emission = self.emit(event)
                self._restore(event.call_id)
                await emission
            case TurnEnded():
                ended = self._end_event(event.status, event.text, event.rounds, event.calls)
                await self.emit(replace(ended, end_reason=event.end_reason, error_phase=event.error_phase))
            case _:
                await self.emit(event)

    async def _emit_reply(self, round: int) -> None:
        """Emit a reply as deltas, one for each part."""
        if reply := self._replies.get(round):
            for delta in reply_deltas(reply.message, has_calls=True):
                await self.emit(delta)
            await self.emit(ReplyEnd(reply.stop_reason, reply.finish_reason, explanation=reply.explanation))

    def _collect_outcomes(self) -> None:
        for event in self.events:
            if isinstance(event, CallFinished):
                self._finished[event.call_id] = event
            elif isinstance(event, ReplyFinished):
                self._replies[event.round] = event
            elif isinstance(event, CallDecided):
                self._decided.setdefault(event.call_id, []).append(event)

    def _end_event(
        self, status: TurnStatus, text: str = "", rounds: int = 0, calls: int = 0, error: str = ""
    ) -> TurnEnded:
        return TurnEnded(status, text, Usage(), rounds, calls, monotonic() - self._start, error)

    # --- results of calls ------------------------------------------------------------------------------------

    def _restore(self, call_id: str) -> None:
        """Restore a recorded result as the target of references."""
        recorded, record = self.calls.get(call_id), self.turn.state.call(call_id)
        if recorded is None or record is None:
            return
        record.arguments_reference, record.edited = recorded.arguments_reference, recorded.edited
        if not recorded.has_value:
            return
        record.result = recorded.value
        if record.reference:
            self._remember(record.reference, recorded.value, None, f"Result of {record.name}.")
        self.runtime.variables.count(record, record.reference)
        if record.arguments_reference and (arguments := _read(record.edited or record.arguments)) is not None:
            text = json.dumps(arguments, sort_keys=True, indent=2, ensure_ascii=False)
            self._remember(record.arguments_reference, arguments, text, f"Arguments of {record.name}.")

    def _keep_media(self, message: Message) -> None:
        for part in message.parts:
            if isinstance(part, Media) and part.name:
                self._remember(part.name, part, str(part), f"{part.mime} of a reply.")

    def _remember(self, name: str, value: Any, text: str | None, description: str) -> None:
        with suppress(BadUsage):  # the user has exposed another object under this name: keep it
            self.runtime.variables.store_result(name, value, text, description=description)

    async def _rerun_call(self, ready: CallReady) -> None:
        """Run a call again for its result object; its outcome is emitted as recorded."""
        finished, recorded = self._finished[ready.call_id], self.calls[ready.call_id]
        self._rerun_ids.add(ready.call_id)
        rerun = await self._execute_call(ready, recorded, finished)
        if rerun is None or rerun.status != "ok":
            reason = NO_TOOL if rerun is None else (rerun.reason or rerun.status)
            if self.is_only and rerun and rerun.is_undecided:
                unrun = replace(finished, status="not_run", shown=reason, reason=reason, reference="", seconds=0.0)
                await self.emit(unrun)
                raise NotRecorded(UNAPPROVED.format(name=ready.name, why=reason))
            await self._notice(NO_RERUN.format(name=ready.name, why=reason, reference=finished.reference))
            if rerun and rerun.status in DECIDED and not rerun.is_undecided:  # what somebody decides now counts
                finished = replace(rerun.finished(), reference="")
        elif record := self.turn.state.call(ready.call_id):
            record.result, record.arguments_reference = rerun.result, rerun.arguments_reference
            self.runtime.variables.count(record, finished.reference)
            if rerun.shown != finished.shown:
                await self._notice(RESULT_CHANGED.format(name=ready.name, date=self.date))
        await self.emit(replace(finished, seconds=rerun.seconds if rerun else 0.0))

    async def _execute_call(self, ready: CallReady, recorded: RecordedCall, finished: CallFinished) -> Call | None:
        arguments = _read(recorded.edited or ready.arguments)
        tool = find_tool(self.runtime.tools, ready.name)
        if tool is None or arguments is None:
            await self.emit(ready)
            return None

        async def emit_as_recorded(event: Event) -> None:
            """Emit an event with the arguments as they were written and edited; the recorded outcome follows."""
            if isinstance(event, CallReady):
                event = replace(event, arguments=ready.arguments)
            elif isinstance(event, CallStarted):
                event = replace(event, edited=recorded.edited)
            if not isinstance(event, CallFinished):
                await self.emit(event)

        state, decided = TurnState(), self._decided.get(ready.call_id, ())
        runtime = replace(
            self.runtime,
            tools=Toolset("again", [replace(tool, store_as=finished.reference)]),
            emit=state.recorded(emit_as_recorded),
            state=state,
            approver=_RecordedApprover(self.runtime.approver, decided, finished.shown, tool),
        )
        text = json.dumps(arguments, ensure_ascii=False)
        call = ToolCall(ready.name, text, "", ready.call_id, runnable=True)
        return await self._until_stopped(run_call(call, runtime, round=ready.round))

    async def _until_stopped(self, work: Any) -> Call:
        running = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.turn.cancel_signal.wait())
        try:
            await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done() or running.cancelled():
                raise _Stopped
            record: Call = running.result()
            return record
        finally:
            stop.cancel()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def _notice(self, text: str) -> None:
        await self.emit(Notice(text, level="warning"))


class _RecordedApprover:
    """Release a result again if its text is unchanged; pass all other questions to the approver."""

    def __init__(self, other: Any, decided: Sequence[CallDecided], shown: str, tool: Tool) -> None:
        self._other = other
        self._was_released = any(
            call_decided.verdict == "released" and not call_decided.edited for call_decided in decided
        )
        self._runs_unasked = tool.policy.run == "auto" and not tool.policy.sensitive
        self._shown = shown
        self._has_released = False

    @property
    def name(self) -> str:
        """Who decided last."""
        if self._has_released:
            return "recording"
        return BY_NOBODY if self._other is None else str(getattr(self._other, "name", "approver"))

    @property
    def asks_person(self) -> bool:
        """Whether the approver of the chat asks a person: it decides what the record does not."""
        return asks_person(self._other)

    def ask(self, question: Question) -> Any:
        """Decide from the record, or ask the approver of the chat."""
        is_same = self._was_released and self._shown.startswith(question.shown)
        if question.gate == "result" and is_same and self._runs_unasked and not question.person_rule:
            self._has_released = True
            return Released()
        if self._other is None:
            return deny_without_approver(question)
        approver: Approver = getattr(self._other, "ask", None) or self._other
        return approver(question)  # type: ignore[operator]  # an approver without `ask` is a callable


def _read(arguments: str) -> dict[str, Any] | None:
    try:
        read = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
