"""A recorded turn, told again: its events through the same door, nothing asked of a model, no time spent.

Calls are told from the record. Only a call that brought an object, which later cells may need, runs again: a tool that
runs unasked does so, its result released as it was where it is still the same; for any other the person is asked.
Where such a call does not run again, or brings something else than it did, the turn says so and goes on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chain.turn import Outcome
from nbtool.chat import restore
from nbtool.chat.recording.file import RecordedCall
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, InvalidAnswer
from nbtool.events import (
    CallDecided,
    CallDelta,
    CallFinished,
    CallReady,
    Emit,
    Event,
    MediaDelta,
    MessageAppended,
    Notice,
    RefusalDelta,
    ReplyEnd,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from nbtool.messages import Media, Message, Refusal, Text, Thinking, ToolCall, Usage
from nbtool.tools.approval import Approver, Decision, Question, Released
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.calls.run import ToolRuntime, run_call
from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Toolset

REPLAYED_FROM = "Replayed from {date}: no model was asked."
RESULT_CHANGED = "`{name}` ran again and gave something else than it did then; the reply is the one of {date}."
NO_RERUN = "`{name}` did not run again ({why}); what it said is told, but $VAR_REF{{{{{reference}}}}} is not there."
NO_APPROVER = "nobody can be asked"
NO_TOOL = "there is no such tool"


class _Stopped(Exception):
    """The person stopped the turn while a call ran again."""


@dataclass(slots=True)
class Replay:
    """One recorded turn on its way to be told again; `context` is what the model was told before the reply."""

    turn: Turn
    date: str
    events: Sequence[Event]
    calls: Mapping[str, RecordedCall]
    context: Sequence[Message]
    runtime: ToolRuntime
    emit: Emit
    _start: float = field(default_factory=time.monotonic)
    _finished: dict[str, CallFinished] = field(default_factory=dict)
    _replies: dict[int, ReplyFinished] = field(default_factory=dict)
    _decided: dict[str, list[CallDecided]] = field(default_factory=dict)
    _rerun_ids: set[str] = field(default_factory=set)
    _emitted: list[Event] = field(default_factory=list)

    async def run(self, started: TurnStarted) -> None:
        """Tell the turn, and leave everything in it as it was when it was recorded."""
        recorded = restore.restore_turn([started, *self.events])
        self.turn.calls[:] = recorded.calls
        self._collect_outcomes()
        try:
            await self.emit(Notice(REPLAYED_FROM.format(date=self.date)))
            for event in self.events:
                await self._emit_recorded(event)
            self._finish(recorded, Outcome("completed", recorded.text, list(recorded.rounds)))
        except _Stopped:
            await self._break_off(started, Outcome("cancelled"))
        except Exception as error:  # noqa: BLE001 - whatever a recording holds, its turn comes to an end
            await self._break_off(started, Outcome("error", errors=[error]))

    def _finish(self, rebuilt: Turn, outcome: Outcome) -> None:
        if self.turn.answer and outcome.status == "completed":
            with suppress(InvalidAnswer):
                self.turn.answer.parse(outcome.text)
        self.turn.finish(outcome, self.context, rebuilt.messages.chain)

    async def _break_off(self, started: TurnStarted, outcome: Outcome) -> None:
        """End the turn where it is."""
        ended = self._end_event(outcome.status, error=str(outcome.error or ""))
        await self.emit(ended)
        rebuilt = restore.restore_turn([started, *self._emitted, ended])
        self.turn.calls[:] = rebuilt.calls
        outcome.rounds = list(rebuilt.rounds)
        self._finish(rebuilt, outcome)

    async def _emit_recorded(self, event: Event) -> None:
        self._emitted.append(event)
        if getattr(event, "call_id", "") in self._rerun_ids:
            return  # it ran again and has told of itself
        match event:
            case RequestStarted():
                await self.emit(replace(event, given=True))
                await self._emit_reply(event.round)
            case ReplyFinished():
                await self.emit(replace(event, usage=Usage(), seconds=0.0))
            case MessageAppended():
                self._keep_media(event.message)
                await self.emit(event)
            case CallReady() if self.calls.get(event.call_id, RecordedCall()).again:
                await self._rerun_call(event)
            case CallFinished():
                self._restore(event)
                await self.emit(event)
            case TurnEnded():
                ended = self._end_event(event.status, event.text, event.rounds, event.calls)
                await self.emit(replace(ended, end_reason=event.end_reason))
            case _:
                await self.emit(event)

    async def _emit_reply(self, round: int) -> None:
        """Let a reply come in as it would from a wire, each part whole."""
        for delta in _as_deltas(self._replies[round]) if round in self._replies else ():
            await self.emit(delta)

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
        return TurnEnded(status, text, Usage(), rounds, calls, time.monotonic() - self._start, error)

    # --- what calls brought -----------------------------------------------------------------------------------

    def _record(self, call_id: str) -> CallRecord:
        return next(record for record in self.turn.calls if record.call_id == call_id)

    def _restore(self, event: CallFinished) -> None:
        """Put a plain result back where references find it."""
        recorded, record = self.calls.get(event.call_id), self._record(event.call_id)
        if recorded is None:
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
            if isinstance(part, Media) and part.name and message.role == "assistant":
                self._remember(part.name, part, str(part), f"{part.mime} of a reply.")

    def _remember(self, name: str, value: Any, text: str | None, description: str) -> None:
        with suppress(BadUsage):  # something was exposed under this name meanwhile, and it stays what it is
            self.runtime.variables.store_result(name, value, text, description=description)

    async def _rerun_call(self, ready: CallReady) -> None:
        """Run a call again for the object that it brings; its outcome is told as it was recorded."""
        finished, record = self._finished[ready.call_id], self._record(ready.call_id)
        recorded = self.calls[ready.call_id]
        self._rerun_ids.add(ready.call_id)
        rerun = await self._execute_call(ready, recorded, record)
        if rerun is None or rerun.status != "ok":
            reason = NO_TOOL if rerun is None else (rerun.reason or rerun.status)
            await self._notice(NO_RERUN.format(name=ready.name, why=reason, reference=record.reference))
        else:
            record.result, record.resolved, record.decisions = rerun.result, rerun.resolved, rerun.decisions
            record.started, record.ended = rerun.started, rerun.ended
            record.arguments_reference = rerun.arguments_reference
            self.runtime.variables.count(record, record.reference)
            if rerun.shown != finished.shown:
                await self._notice(RESULT_CHANGED.format(name=ready.name, date=self.date))
        await self.emit(replace(finished, seconds=rerun.seconds if rerun else 0.0))

    async def _execute_call(self, ready: CallReady, recorded: RecordedCall, record: CallRecord) -> CallRecord | None:
        arguments = _read(recorded.edited or ready.arguments)
        tool = self.runtime.tools.tools().get(ready.name)
        if tool is None or arguments is None:
            return None
        runtime = replace(
            self.runtime,
            tools=Toolset("again", [replace(tool, store_as=record.reference)]),
            emit=self._emit_except_outcome,
            approver=_RecordedApprover(self.runtime.approver, self._decided.get(ready.call_id, ()), record.shown, tool),
        )
        text = json.dumps(arguments, ensure_ascii=False)
        call = ToolCall(ready.name, text, record.id, ready.call_id, args=arguments, runnable=True)
        return await self._until_stopped(run_call(call, runtime, round=ready.round))

    async def _emit_except_outcome(self, event: Event) -> None:
        if not isinstance(event, CallFinished):
            await self.emit(event)

    async def _until_stopped(self, work: Any) -> CallRecord:
        running = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.turn.cancel_signal.wait())
        try:
            await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done() or running.cancelled():
                raise _Stopped
            record: CallRecord = running.result()
            return record
        finally:
            stop.cancel()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def _notice(self, text: str) -> None:
        await self.emit(Notice(text, level="warning"))


class _RecordedApprover:
    """Releases a result as it was released, where its text is the same; asks about anything else."""

    def __init__(self, other: Any, decided: Sequence[CallDecided], shown: str, tool: Tool) -> None:
        self.name = getattr(other, "name", "approver")
        self._other = other
        self._was_released = any(one.verdict == "released" and not one.edited for one in decided)
        self._runs_unasked = tool.policy.run == "auto" and not tool.policy.sensitive
        self._shown = shown

    def ask(self, question: Question) -> Any:
        """Answer from the record, or ask whoever is asked here."""
        is_same = self._was_released and self._shown.startswith(question.shown)
        if question.gate == "result" and is_same and self._runs_unasked:
            self.name = "recording"
            return Released()
        if self._other is None:
            refusal: Decision = question.denial(NO_APPROVER)
            return refusal
        approver: Approver = getattr(self._other, "ask", None) or self._other
        return approver(question)  # type: ignore[operator]  # what has no `ask` is called


def _read(arguments: str) -> dict[str, Any] | None:
    try:
        read = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _as_deltas(finished: ReplyFinished) -> Iterator[Event]:
    for part in finished.message.parts:
        match part:
            case Text():
                yield TextDelta(part.text)
            case Thinking():
                yield ThinkingDelta(part.text)
            case Refusal():
                yield RefusalDelta(part.text)
            case Media():
                yield MediaDelta(part)
            case ToolCall():
                yield CallDelta(part.call_id, part.id, part.name, part.arguments, True, part.repaired, part.call_id)
            case _:
                pass
    yield ReplyEnd(finished.stop_reason, finished.finish_reason, explanation=finished.explanation)
