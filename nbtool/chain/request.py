"""The requests of a turn: each sends the messages so far and reads one reply; and what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nbtool.chain.hook_calls import Hooks
from nbtool.chain.hooks import AppendContext, RequestContext, StreamContext, TurnContext
from nbtool.chain.price_check import require_known_cost
from nbtool.chain.request_filter import REQUEST_FILTER
from nbtool.chain.request_size import exceeds_budget
from nbtool.chain.stop_reasons import (
    CALL_IN_FINAL_REPLY,
    IMMEDIATE_STOPS,
    NO_ROUND_FOR_TOOLS,
    OR_RAISE_LIMIT,
    RequestPurpose,
    end_reason_of,
    name_setting,
    notice_of,
    without_calls,
)
from nbtool.chain.usage_meter import raise_budget, resume_cell
from nbtool.clock import monotonic
from nbtool.errors import IncompleteReply, LimitReached
from nbtool.events import (
    Delta,
    EndReason,
    MessageAppended,
    Notice,
    Phase,
    ReplyFinished,
    RequestStarted,
    Retrying,
    StreamNotice,
    TurnStatus,
)
from nbtool.messages import Message, user
from nbtool.wire.base import Endpoint
from nbtool.wire.reply import MAX_REPLY_CALLS, Reply, ReplyBuilder


@dataclass(slots=True)
class Outcome:
    """The outcome of a turn. `rounds` are its replies in order, `errors` are ordered, the main one first.

    `end_reason` says why it ended without a finished answer, `phase` is what the turn is doing. `error_phase` is the
    phase of the only error; empty if there are several or none.
    """

    status: TurnStatus = "running"
    text: str = ""
    rounds: list[Reply] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    end_reason: EndReason = ""
    phase: Phase = "hook"
    error_phase: Literal["", Phase] = ""

    @property
    def error(self) -> BaseException | None:
        """The error of the turn; several errors are an exception group."""
        if len(self.errors) > 1:
            return BaseExceptionGroup("Several errors in this turn", self.errors)
        return self.errors[0] if self.errors else None


ReplySource = Callable[[TurnContext], Awaitable[Reply | None]]
"""Returns the reply of the next round if it is reused or recorded; None once the model must be called."""

NO_STOP_REASON = "The server did not report why the reply ended: it may be truncated."


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes the requests of one turn; a reply of `reply_source` replaces a request, and costs nothing."""

    turn: TurnContext
    endpoint: Endpoint
    hooks: Hooks
    outcome: Outcome
    system: str
    options: dict[str, Any] | None
    stream: bool
    reply_source: ReplySource | None

    async def make(self, purpose: RequestPurpose) -> Reply:
        """Make one request and return its reply; even an incomplete reply is appended to the chain.

        Raises:
            IncompleteReply: the reply broke off.
        """
        if self.reply_source and (recorded := await self.reply_source(self.turn)):
            return await self._use_recorded_reply(recorded)
        self.outcome.phase = "final_reply" if purpose.is_final else "request"
        request = await self._prepare(purpose)
        start = RequestStarted(request.round, host=self.endpoint.host, final=purpose.is_final)
        written = asyncio.ensure_future(self.turn.emit(start))
        reply = await self._read_reply(request, purpose, written)
        await self._check(reply)
        if purpose.is_final and reply.calls:
            advice = name_setting(OR_RAISE_LIMIT, purpose.setting)
            await self.turn.emit(Notice(CALL_IN_FINAL_REPLY.format(advice=advice), "warning"))
            return replace(reply, message=without_calls(reply.message))
        return reply

    async def append(self, message: Message) -> None:
        """Append a message, even if a plugin fails, which ends the turn."""
        context = AppendContext(self.turn, message)
        try:
            await self.hooks.call_all("on_message_append", context)
        finally:
            if not context.is_prevented:
                self.turn.chain.append(context.message)
                is_reply = bool(self.outcome.rounds) and context.message is self.outcome.rounds[-1].message
                await self.turn.emit(MessageAppended(None if is_reply else context.message))

    async def _use_recorded_reply(self, reply: Reply) -> Reply:
        """Use an earlier reply instead of a request: append it to the chain, and send nothing."""
        turn = self.turn
        turn.meter.rounds += 1
        await turn.emit(RequestStarted(turn.meter.rounds, given=True))
        self.outcome.rounds.append(reply)
        await self._finish(turn.meter.rounds, reply, 0.0)
        await self.append(reply.message)
        return reply

    async def _prepare(self, purpose: RequestPurpose) -> RequestContext:
        """Return the request as the plugins have changed it."""
        turn = self.turn
        is_priced = turn.meter.price_of is not None
        require_known_cost(turn.limits, turn.abilities, turn.model, provider=turn.provider, is_priced=is_priced)
        request = RequestContext(
            turn,
            turn.meter.rounds + 1,
            [*turn.messages, user(purpose.prompt)] if purpose.prompt else turn.messages,
            system=self.system,
            options=dict(self.options or {}),
            stream=self.stream,
            is_final=purpose.is_final,
            has_tools=purpose.has_tools,
        )
        await self.hooks.call_all("on_before_request", request)
        if notice := REQUEST_FILTER.hide_secrets(request):
            await turn.emit(Notice(notice, "warning"))
        if exceeded := exceeds_budget(request.prompt(), turn.meter):
            self.outcome.end_reason = exceeded.kind
            raise LimitReached(exceeded.text, fix=exceeded.fix or raise_budget(turn.turn_id))
        if not purpose.has_tools and not turn.meter.rounds and request.tools:
            turn.notice_topics.add("rounds")
            await turn.emit(Notice(NO_ROUND_FOR_TOOLS, topic="rounds"))
        turn.meter.rounds += 1
        return request

    async def _read_reply(
        self, request: RequestContext, purpose: RequestPurpose, written: asyncio.Future[None]
    ) -> Reply:
        """Send a request and read its reply; what was received is kept, even if this raises.

        The request is sent while it is `written` to the history, and its reply is read once it is there.
        """
        turn, endpoint, start = self.turn, self.endpoint, monotonic()
        max_calls = max(MAX_REPLY_CALLS, turn.limits.call_limit)
        builder = ReplyBuilder(wire=endpoint.dialect, host=endpoint.host, model=endpoint.model, max_calls=max_calls)
        try:
            await self._stream_reply(request, builder, written)
        finally:
            await written
            turn.dialect = builder.wire = endpoint.dialect  # a refusal may have changed it
            reply = builder.reply()
            reply = replace(reply, usage=turn.meter.add(reply.usage))
            self.outcome.rounds.append(reply)
            await self._finish(request.round, reply, monotonic() - start)
            if reply.message.parts or reply.complete:
                await self.append(without_calls(reply.message) if purpose.is_final else reply.message)
        return reply

    async def _finish(self, round: int, reply: Reply, seconds: float) -> None:
        fields = (reply.message, reply.stop_reason, reply.usage, reply.complete)
        await self.turn.emit(ReplyFinished(round, *fields, seconds, reply.finish_reason, reply.explanation))

    async def _check(self, reply: Reply) -> None:
        """Report why a reply stopped.

        Raises:
            IncompleteReply: it broke off.
        """
        if reply.complete and reply.stop_reason == "unknown" and not reply.finish_reason:
            await self.turn.emit(Notice(NO_STOP_REASON, "warning", "no_stop_reason"))
        if (reason := end_reason_of(reply)) in IMMEDIATE_STOPS:
            await self.turn.emit(notice_of(reason, reply.explanation))
        if not reply.complete and reason != "too_many_calls":
            raise IncompleteReply(
                "The reply broke off before it was complete; the received part is kept, and none of its calls ran.",
                fix=f"`{resume_cell(self.turn.turn_id)}` goes on after the last complete round; "
                "running the cell starts over.",
            )

    async def _stream_reply(
        self, request: RequestContext, builder: ReplyBuilder, written: asyncio.Future[None]
    ) -> None:
        """Pass every delta to the plugins, the reply builder and the emitter, in this order."""
        has_hooks = bool(self.hooks.get("on_stream_data"))
        async with aclosing(self.endpoint.stream(request.prompt())) as deltas:
            async for delta in deltas:
                if not written.done():
                    await written
                if isinstance(delta, StreamNotice):
                    await self.turn.emit(Notice(delta.text, delta.level))
                    continue
                for passed in await self._run_stream_hooks(delta, request.round) if has_hooks else (delta,):
                    builder.add(passed)
                    if builder.is_full:
                        return
                    await self.turn.emit(passed)
                    if self.outcome.phase == "request" and not isinstance(passed, Retrying):
                        self.outcome.phase = "stream"

    async def _run_stream_hooks(self, delta: Delta, round: int) -> list[Delta]:
        """Return the deltas that the plugins return for a delta: itself, another one, several, or none."""
        current = [delta]
        for hook in self.hooks.get("on_stream_data"):
            passed: list[Delta] = []
            for item in current:
                context = StreamContext(self.turn, round, item)
                await hook.run(context)
                passed += context.before
                if context.delta is not None:
                    passed.append(context.delta)
            current = passed
        return current
