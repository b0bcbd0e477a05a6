"""The tool-calling plugin: offer the tools, run the calls, append their results, and ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

from nbtool.argument_check import check_answer
from nbtool.chain.hook_calls import Hooks
from nbtool.chain.hooks import CallContext, CallsContext, ReplyContext, RequestContext, TurnContext
from nbtool.chain.repair import NO_RESULT
from nbtool.chain.task_stopping import shield_until_done, stop_all
from nbtool.chain.usage_meter import Meter
from nbtool.events import CallReady, ErrorRaised, Event, Notice, Phase
from nbtool.messages import Message, ProviderCall, ToolCall
from nbtool.text import count_of
from nbtool.threads.loop import is_cancelling
from nbtool.tools.approval import ApprovalQueue
from nbtool.tools.calls.call_run import run_call, skip_call
from nbtool.tools.calls.ordering import CallSlot, make_slots
from nbtool.tools.calls.repeats import can_repeat, is_repeated
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.tool import Tool
from nbtool.tools.tool_search import ToolSearch
from nbtool.tools.tool_views import left_out_tools
from nbtool.tools.toolset import Toolset
from nbtool.turn_state import Call
from nbtool.wire.base import ToolSpec
from nbtool.wire.dialect import TOOL_SEARCH
from nbtool.wire.form_cache import FormCache

FAILURE_PHASES: dict[str, Phase] = {
    "error": "tool",
    "timed_out": "tool",
    "invalid": "arguments",
    "not_found": "arguments",
}
"""The phase in which a call failed, by its status; a decision of the user is not a failure."""

STOP_SECONDS = 1.5
"""Seconds that stopped calls of a round have to end; less than `DRAIN_SECONDS` of `nbtool.chain.limits`."""

MALFORMED_NOTICE = "The model wrote a tool call that cannot be read as one; it {what} did not run. {next}"
ASKED_AGAIN, NOT_ASKED_AGAIN = (
    "The model was asked again.",
    "This was the second time, so the call is not asked for again.",
)

CALL_LIMIT_REACHED = "This call did not run: the turn's limit of {calls} was reached."


_specs: FormCache[Tool, None, ToolSpec] = FormCache()

_notices: WeakKeyDictionary[ApprovalQueue, set[str]] = WeakKeyDictionary()
"""The notices of each chat about tools that are left out: once, not in every turn. The queue stands for the chat."""


@dataclass(slots=True)
class ToolCalling:
    """Lets the model call the tools of a runtime.

    `call_listeners` are the plugins with hooks for single calls (`on_before_calls`, `on_call_start`, `on_call_end`).
    `select` returns the names of the tools that this turn may use; other tools cannot be called. `search` lists many
    tools by name. `known_outcomes` are the recorded outcomes of calls, by call id: the call's record, then those of its
    nested calls. Such a call is answered from them, without running and without an approval.
    """

    hook_seconds: ClassVar[float | None] = None  # its calls have their own time limits, and may wait for an approval
    runs_on_loop: ClassVar[bool] = True

    runtime: ToolRuntime
    call_listeners: tuple[object, ...] = ()
    select: Callable[[TurnContext], Iterable[str]] | None = None
    known_outcomes: Mapping[str, Sequence[Call]] = field(default_factory=dict)
    search: ToolSearch = field(default_factory=ToolSearch)
    _hooks: Hooks = field(init=False)
    _is_watched: bool = field(init=False)
    _malformed_replies: int = field(init=False, default=0)
    _chosen: Toolset = field(init=False)
    _offered: dict[str, Tool] = field(init=False, default_factory=dict)
    _offered_specs: tuple[ToolSpec, ...] = field(init=False, default=())
    _latest_batch: list[Call] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._hooks, self._chosen = Hooks(self.call_listeners), self.runtime.tools
        self._is_watched = bool(self._hooks.get("on_call_start") or self._hooks.get("on_call_end"))

    def on_turn_start(self, turn: TurnContext) -> None:
        """Let other plugins ask for approvals, and select the tools."""
        turn.approvals = self.runtime
        if self.select:
            names = check_answer("choose_tools", Iterable[str], self.select(turn))
            self.runtime.tools = Toolset("chosen", [self.runtime.tools.filtered(tuple(names))])
        self._chosen = self.runtime.tools
        self.runtime.tools = Toolset("turn", [self._chosen, self.search])

    async def on_before_request(self, request: RequestContext) -> None:
        """Offer the tools in the order of the toolset, which keeps prompt caches valid."""
        tools = self._chosen.tools()
        is_native = TOOL_SEARCH in request.turn.abilities
        if tools != self._offered:
            self.search.refresh(tools)
            self._offered, self._offered_specs = tools, tuple(self._make_specs(tools, is_native=is_native))
        if not is_native and (listing := self.search.listing()):
            request.system = "\n\n".join(filter(None, (request.system, listing)))
        for text in left_out_tools(self._chosen):
            if text not in (shown := _notices.setdefault(self.runtime.approvals, set())):
                shown.add(text)
                await request.turn.emit(Notice(text, "warning"))
        request.add_tools(self._offered_specs)

    def _make_specs(self, tools: Mapping[str, Tool], *, is_native: bool) -> Iterator[ToolSpec]:
        """Make the definitions to offer: of all tools if the provider searches them itself."""
        for tool in tools.values() if is_native else self.search.offered(tools.values()):
            if not tool.unfit_reason:
                spec = _specs.get_or_make(tool, None, _make_spec)
                yield replace(spec, is_deferred=True) if is_native and self.search.is_searched(tool) else spec

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Run every call of the reply and append all results in one message, whatever their outcome."""
        for part in reply.reply.message.parts:
            if isinstance(part, ProviderCall):
                self.runtime.sources.note_provider_tool(part.tool, reply.round)
        calls = [self.search.unwrap(call) for call in reply.reply.calls]
        if not calls:
            return
        if self._hooks.get("on_before_calls"):
            copies = tuple(call.copy() for call in calls)
            await self._hooks.call_all("on_before_calls", CallsContext(reply.turn, reply.round, copies))
        remaining = reply.turn.meter.remaining_calls()
        if reply.reply.stop_reason == "calls":
            remaining = len(calls)  # none of them runs, so they do not count toward the limit
        else:
            reply.turn.meter.calls += len(calls)
        calls_of_turn = self.runtime.state.calls
        first = len(calls_of_turn)
        self.runtime.run_nested = partial(self._run_nested, reply)
        work = [
            self._run(call, reply, self.runtime, is_over_limit=index >= remaining, slot=slot)
            for index, (call, slot) in enumerate(zip(calls, make_slots(len(calls)), strict=True))
        ]
        running = [asyncio.ensure_future(coroutine) for coroutine in work] if len(work) > 1 else []
        try:
            await (asyncio.gather(*running) if running else work[0])
        except BaseException:  # the round ends early: the turn was stopped, or a plugin failed
            await shield_until_done(self._stop(running, reply, calls))
            raise
        self._count_repeats(reply.turn.meter, calls_of_turn[first:])
        if await self._may_ask_again(calls, reply):
            await reply.append_and_request(self._results_message(calls))
        else:
            await reply.append(self._results_message(calls))

    def _count_repeats(self, meter: Meter, batch: list[Call]) -> None:
        """Count the rounds in a row with the same calls and results; outcomes of an earlier version do not count."""
        is_known = bool(self.known_outcomes) and any(call.call_id in self.known_outcomes for call in batch)
        if is_known or not can_repeat(batch):
            batch, meter.repeats = [], 0
        else:
            meter.repeats = meter.repeats + 1 if is_repeated(batch, self._latest_batch) else 1
        meter.repeated = tuple(dict.fromkeys(call.display_name for call in batch))
        self._latest_batch = batch

    async def _may_ask_again(self, calls: Sequence[ToolCall], reply: ReplyContext) -> bool:
        """Report calls that cannot be read; return False for the second reply in a row that has no other calls."""
        if not any(call.is_malformed for call in calls) or reply.is_final:
            self._malformed_replies = 0
            return True
        self._malformed_replies = self._malformed_replies + 1 if all(call.is_malformed for call in calls) else 0
        may_ask = self._malformed_replies < 2
        is_hidden = any(call.is_malformed and call.arguments for call in calls)
        what = "is hidden and" if is_hidden else "is in the text and"
        text = MALFORMED_NOTICE.format(what=what, next=ASKED_AGAIN if may_ask else NOT_ASKED_AGAIN)
        await reply.turn.emit(Notice(text, "warning", "malformed_call"))
        return may_ask

    async def _stop(
        self, running: Sequence[asyncio.Future[Call]], reply: ReplyContext, calls: Sequence[ToolCall]
    ) -> None:
        """Stop the calls of a round and add a result for each of them, also for those that did not start."""
        await stop_all(running, STOP_SECONDS)
        for call in calls:
            if self.runtime.state.call(call.call_id) is None:
                await skip_call(call, self.runtime, round=reply.round, reason=NO_RESULT)
        with suppress(TimeoutError):  # a plugin hangs in its hook; the message is appended anyway
            async with asyncio.timeout(reply.turn.limits.hooks.stop):
                await reply.append(self._results_message(calls))

    async def _run_nested(self, reply: ReplyContext, call: ToolCall, runtime: ToolRuntime, _: int) -> Call:
        """Run a nested call of a tool, with the same limit, hooks and record as any other."""
        remaining = reply.turn.meter.remaining_calls()
        reply.turn.meter.calls += 1
        return await self._run(call, reply, runtime, is_over_limit=not remaining, slot=CallSlot())

    async def _run(
        self, call: ToolCall, reply: ReplyContext, runtime: ToolRuntime, *, is_over_limit: bool, slot: CallSlot
    ) -> Call:
        try:
            if outcome := self.known_outcomes.get(call.call_id):
                return await self._replay_outcome(outcome, reply.turn)
            return await self._run_call(call, reply, runtime, is_over_limit=is_over_limit, slot=slot)
        finally:
            slot.release()

    async def _replay_outcome(self, outcome: Sequence[Call], turn: TurnContext) -> Call:
        """Answer a call from its recorded outcome."""
        state = self.runtime.state
        for known in outcome:
            carried = replace(known, started=None, thread="", inside="", is_guarded=False, decisions=[])
            record = state.add_call(carried)
            self.runtime.variables.count(record, record.reference)
            self.runtime.sources.note_call(record)
            ready_event = CallReady(
                record.call_id,
                record.name,
                record.round,
                record.arguments,
                record.described,
                edited=record.edited,
                qualified_name=record.qualified_name,
            )
            events: list[Event] = [ready_event, *known.decisions, record.finished()]
            for event in events:
                await turn.emit(event)
        return state.call(outcome[0].call_id) or outcome[0]

    async def _run_call(
        self, call: ToolCall, reply: ReplyContext, runtime: ToolRuntime, *, is_over_limit: bool, slot: CallSlot
    ) -> Call:
        context = CallContext(reply.turn, reply.round, call.copy() if self._is_watched else call)
        if self._is_watched:
            await self._hooks.call_all("on_call_start", context)
        if is_over_limit:
            reason = CALL_LIMIT_REACHED.format(calls=count_of(reply.turn.limits.call_limit, "tool call"))
            record = await skip_call(call, runtime, round=reply.round, reason=reason)
        else:
            try:
                record = await run_call(call, runtime, round=reply.round, slot=slot)
            except asyncio.CancelledError:
                if not is_cancelling():  # the person interrupted the tool, which stops the turn
                    reply.turn.cancel.cancel()
                    await asyncio.Event().wait()  # ends with the turn: nothing else of the round may run before
                raise
        if record.status in FAILURE_PHASES:
            await reply.turn.emit(ErrorRaised(FAILURE_PHASES[record.status], f"{record.display_name}: {record.reason}"))
        if self._is_watched:
            context.record = record
            await self._hooks.call_all("on_call_end", context)
        return record

    def _results_message(self, calls: Sequence[ToolCall]) -> Message:
        ended = map(self.runtime.state.call, [call.call_id for call in calls])
        return Message("tool", tuple([call.to_result() for call in ended if call]))


def _make_spec(tool: Tool) -> ToolSpec:
    return ToolSpec(**tool.spec)
