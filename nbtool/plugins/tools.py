"""Tool calling, as a plugin: offer the tools, run what the model asks for, answer it, and ask again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from nbtool.chain.cancellation import see_through, stop_all
from nbtool.chain.hook_calls import Hooks
from nbtool.chain.hooks import CallContext, CallsContext, ReplyContext, RequestContext, TurnContext
from nbtool.chain.limits import HOOK_STOP_SECONDS
from nbtool.chain.repair import UNANSWERED
from nbtool.events import CallReady, ErrorRaised, Event, Phase
from nbtool.messages import Message, ToolCall, results
from nbtool.tools.calls.ordering import Ticket, tickets
from nbtool.tools.calls.run import Bench, CallRecord, not_run, run_call
from nbtool.tools.toolset import Toolset
from nbtool.wire.base import ToolSpec

BENCH = "bench"
"""The key in `TurnContext.state` under which every plugin finds the turn's bench: its desk, approver and thread."""

FAILED_IN: dict[str, Phase] = {"error": "tool", "timed_out": "tool", "invalid": "arguments", "not_found": "arguments"}
"""In which phase a call failed, by its outcome; a decision of a person is no failure."""

STOP_SECONDS = 1.5
"""Seconds in which the calls of a round end once they are stopped; less than a stopped turn waits for all of it."""

OVER_LIMIT = "This call did not run: the turn's limit of {limit} tool calls was reached."


@dataclass(slots=True)
class ToolCalling:
    """Lets the model call the tools that lie on a bench.

    `watchers` are the plugins that want to hear of single calls (`on_before_calls`, `on_call_start`,
    `on_call_end`). `records` holds every call of the turn, in the order in which the model asked for them. `choose`
    gives the names of the tools that this turn may use; a tool that was not chosen cannot be called by naming it.
    `told` are calls, by their ids, whose outcome is known: the call's record, then those of the calls it made. They
    are answered from it; nothing runs, and nobody is asked.
    """

    hook_seconds: ClassVar[float | None] = None  # its calls have bounds of their own, and may wait for a person
    runs_on_loop: ClassVar[bool] = True

    bench: Bench
    watchers: tuple[object, ...] = ()
    records: list[CallRecord] = field(default_factory=list)
    choose: Callable[[TurnContext], Iterable[str]] | None = None
    told: Mapping[str, Sequence[CallRecord]] = field(default_factory=dict)
    _hooks: Hooks = field(init=False)

    def __post_init__(self) -> None:
        self._hooks = Hooks(self.watchers)

    def on_turn_start(self, turn: TurnContext) -> None:
        """Leave the bench where plugins that have to ask somebody find it."""
        turn.state[BENCH] = self.bench
        if self.choose:
            self.bench.tools = Toolset("chosen", [self.bench.tools.filtered(tuple(self.choose(turn)))])

    def on_before_request(self, request: RequestContext) -> None:
        """Offer the tools; their order is that of the toolset, so that a prompt cache holds."""
        request.add_tools(ToolSpec(**tool.spec) for tool in self.bench.tools.tools().values())

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Run every call of the reply and answer all of them in one message, whatever became of them."""
        calls = tuple(call.copy() for call in reply.reply.calls)
        if not calls:
            return
        shown = tuple(call.copy() for call in calls)
        await self._hooks.in_order("on_before_calls", CallsContext(reply.turn, reply.round, shown))
        left = reply.turn.meter.calls_left()
        if reply.reply.stop_reason == "calls":
            left = len(calls)  # none of them can run, and each says why: they use nothing up
        else:
            reply.turn.meter.calls += len(calls)
        place = len(self.records)
        self.bench.make = partial(self._within, reply)
        running = [
            asyncio.ensure_future(self._run(call, reply, self.bench, is_over=number >= left, ticket=ticket))
            for number, (call, ticket) in enumerate(zip(calls, tickets(len(calls)), strict=True))
        ]
        try:
            await asyncio.gather(*running)
        except BaseException:  # whatever ends the round early: the turn was stopped, or a plugin failed
            await see_through(self._stop(running, reply, calls, place))
            raise
        finally:
            self.records[place:] = sorted(self.records[place:], key=_order_of(calls))
        reply.turn.meter.note_batch(_fingerprint(self.records[place:]))
        await reply.append_and_request(self._answers(calls))

    async def _stop(
        self, running: Sequence[asyncio.Future[CallRecord]], reply: ReplyContext, calls: Sequence[ToolCall], place: int
    ) -> None:
        """Stop the calls of a round and answer each of them, also those that never began."""
        await stop_all(running, STOP_SECONDS)
        has_record = {record.call_id for record in self.records[place:]}
        for call in calls:
            if call.call_id not in has_record:
                self.records.append(await not_run(call, self.bench, round=reply.round, reason=UNANSWERED))
        with suppress(TimeoutError):  # then a plugin hangs over the message, which joins the chain all the same
            async with asyncio.timeout(HOOK_STOP_SECONDS):
                await reply.append(self._answers(calls))

    async def _within(self, reply: ReplyContext, call: ToolCall, bench: Bench, _: int) -> CallRecord:
        """Run a call that a tool makes: under the same limit, watched and recorded as any other."""
        left = reply.turn.meter.calls_left()
        reply.turn.meter.calls += 1
        return await self._run(call, reply, bench, is_over=not left, ticket=Ticket())

    async def _run(
        self, call: ToolCall, reply: ReplyContext, bench: Bench, *, is_over: bool, ticket: Ticket
    ) -> CallRecord:
        try:
            if told := self.told.get(call.call_id):
                return await self._tell(told, reply.turn)
            return await self._seen_through(call, reply, bench, is_over=is_over, ticket=ticket)
        finally:
            ticket.leave()

    async def _tell(self, told: Sequence[CallRecord], turn: TurnContext) -> CallRecord:
        """Answer a call by what came of it before."""
        for record in told:
            self.records.append(record)
            self.bench.variables.count(record, record.reference)
            ready = CallReady(
                record.call_id, record.name, record.round, record.arguments, record.resolved, edited=record.edited
            )
            events: list[Event] = [ready, *record.decisions, record.finished()]
            for event in events:
                await turn.emit(event)
        return told[0]

    async def _seen_through(
        self, call: ToolCall, reply: ReplyContext, bench: Bench, *, is_over: bool, ticket: Ticket
    ) -> CallRecord:
        context = CallContext(reply.turn, reply.round, call.copy())
        await self._hooks.in_order("on_call_start", context)
        if is_over:
            reason = OVER_LIMIT.format(limit=reply.turn.limits.max_calls)
            record = await not_run(call, bench, round=reply.round, reason=reason)
            self.records.append(record)
        else:
            record = await run_call(call, bench, round=reply.round, keep=self.records.append, ticket=ticket)
        if record.status in FAILED_IN:
            await reply.turn.emit(ErrorRaised(FAILED_IN[record.status], f"{record.name}: {record.reason}"))
        context.record = record
        await self._hooks.in_order("on_call_end", context)
        return record

    def _answers(self, calls: Sequence[ToolCall]) -> Message:
        records = {record.call_id: record for record in self.records}
        return results(*(records[call.call_id].to_result() for call in calls if call.call_id in records))


def _order_of(calls: tuple[ToolCall, ...]):  # type: ignore[no-untyped-def]  # a key function for sorted()
    places = {call.call_id: place for place, call in enumerate(calls)}
    return lambda record: places.get(record.call_id, len(places))


def _fingerprint(records: Sequence[CallRecord]) -> str:
    """Name a batch by what was asked and what came of it, not by its ids nor by what its results are kept as."""
    told = [(made.name, made.arguments, made.shown.replace(made.reference or "\0", "")) for made in records]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
