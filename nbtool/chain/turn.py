"""The engine: hooks → request → stream → append → again, until the model stops.

One turn is one run of one engine. What makes it a chat with tools, with privacy or with a budget is in its plugins;
the engine knows requests and replies, and the promises of the chain: a limit on the rounds, one status, and a last
word from the model when the rounds run out or its reply is empty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.chain.hooks import (
    AppendContext,
    Appended,
    Cleanup,
    Hooks,
    ReplyContext,
    RequestContext,
    StreamContext,
    TurnContext,
)
from nbtool.errors import HookFailed, IncompleteReply, LimitReached, NbtoolError
from nbtool.events import (
    Delta,
    EndReason,
    ErrorRaised,
    MessageAppended,
    Notice,
    Phase,
    ReplyFinished,
    RequestStarted,
    Retrying,
    TurnEnded,
    TurnStatus,
)
from nbtool.messages import Message, user
from nbtool.wire.base import Endpoint
from nbtool.wire.reply import Reply, ReplyBuilder

Given = Callable[[TurnContext], Awaitable[Reply | None]]
"""Gives the reply of the next round where it is known already, None from where on the model is to be asked."""

DRAIN_SECONDS = 3.0
"""How long a cancelled turn waits for its own tasks before it calls them abandoned."""

LAST_WORD = (
    "[nbtool] No more tool calls are possible: {reason}. Answer the person now, without tools: say what was done and"
    " found, and what was not done."
)
EMPTY_REPLY = "[nbtool] The tool calls are done and your reply was empty. Answer the person now, from the results."


@dataclass(slots=True)
class Outcome:
    """What came of a turn. `rounds` are its replies in order, `errors` the main one first.

    `end_reason` says why it ended without a finished answer.
    """

    status: TurnStatus = "running"
    text: str = ""
    rounds: list[Reply] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    end_reason: EndReason = ""

    @property
    def error(self) -> BaseException | None:
        """The error of the turn; several are joined in a group."""
        if len(self.errors) > 1:
            return BaseExceptionGroup("Several things failed in this turn", self.errors)
        return self.errors[0] if self.errors else None


class Engine:
    """Runs one turn against one endpoint; replies that are `given` stand for requests, and cost nothing."""

    def __init__(  # noqa: PLR0913 - what a run is made of, each part by its name
        self,
        turn: TurnContext,
        endpoint: Endpoint,
        plugins: Sequence[object] = (),
        *,
        system: str = "",
        options: dict[str, Any] | None = None,
        stream: bool = True,
        given: Given | None = None,
    ) -> None:
        self._turn = turn
        self._given = given
        self._endpoint = endpoint
        turn.host, turn.model, turn.dialect = endpoint.host, endpoint.model, endpoint.dialect
        turn.abilities = getattr(endpoint, "abilities", frozenset())
        self._hooks = Hooks(plugins)
        self._system = system
        self._options = options or {}
        self._stream = stream
        self._cleanups: list[Cleanup] = []
        self._outcome = Outcome()
        self._phase: Phase = "hook"

    async def run(self) -> Outcome:
        """Run the turn to its end; errors become part of the outcome, only foreign cancellation is raised."""
        outcome, turn = self._outcome, self._turn
        work = asyncio.ensure_future(self._rounds())
        stop = asyncio.ensure_future(turn.cancel.wait())
        try:
            await asyncio.wait({work, stop}, timeout=turn.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            in_time = work.done() or turn.cancel.is_set
            await self._settle(work)
            outcome.status = await self._judge(work, in_time=in_time)
        except asyncio.CancelledError:
            await self._settle(work)  # whoever ends the turn, nothing of it outlives it
            raise
        finally:
            stop.cancel()
            if not work.done():
                work.cancel()
            await self._finish()
        return outcome

    async def _settle(self, work: asyncio.Future[None]) -> None:
        """Let the work end; when it was told to stop, only for a while."""
        if work.done():
            return
        work.cancel()
        _, pending = await asyncio.wait({work}, timeout=DRAIN_SECONDS)
        if pending:
            await self._turn.emit(Notice("Something that was stopped has not ended yet.", level="warning"))

    async def _judge(self, work: asyncio.Future[None], *, in_time: bool) -> TurnStatus:
        error = work.exception() if work.done() and not work.cancelled() else None
        if self._turn.cancel.is_set:
            if error and (isinstance(error, HookFailed) or not isinstance(error, NbtoolError)):
                self._outcome.errors.append(error)  # a genuine failure is not hidden by a stop that came with it
            return "cancelled"
        if not in_time:
            limit = LimitReached(f"The turn took longer than {self._turn.limits.seconds:g} s and was stopped.")
            await self._report(limit)
            return "timeout"
        if error is None:
            return "completed" if work.done() and not work.cancelled() else "cancelled"
        await self._report(error)
        return "error"

    async def _report(self, error: BaseException) -> None:
        self._outcome.errors.append(error)
        text = str(error) if isinstance(error, NbtoolError) else f"{type(error).__name__}: {error}"
        await self._turn.emit(ErrorRaised(self._phase, text, error=type(error).__name__))

    async def _rounds(self) -> None:
        self._phase = "hook"
        await self._start()
        wanted = True
        while wanted:
            reply = await self._request()
            wanted = await self._after(reply)
            if wanted and (reason := self._turn.meter.spent()):
                await self._last_word(LAST_WORD.format(reason=reason))
                return
        if not reply.text.strip() and not reply.refusal and self._turn.chain[:-1]:
            await self._last_word(EMPTY_REPLY)

    async def _start(self) -> None:
        for _, hook in self._hooks.of("on_turn_start"):
            cleanup = await self._hooks.ask("on_turn_start", hook, self._turn)
            if callable(cleanup):
                self._cleanups.append(cleanup)

    async def _take(self, reply: Reply) -> Reply:
        """Let a reply that is given stand for a request: it joins the chain, and nothing leaves."""
        turn = self._turn
        turn.meter.rounds += 1
        await turn.emit(RequestStarted(turn.meter.rounds, given=True))
        self._outcome.rounds.append(reply)
        await self._append(reply.message)
        said = (reply.message, reply.stop_reason, reply.usage, reply.complete)
        why = (0.0, reply.finish_reason, reply.explanation)
        await turn.emit(ReplyFinished(turn.meter.rounds, *said, *why))
        return reply

    async def _request(self, *, last_word: str = "") -> Reply:
        """Make one request and read its reply; the reply joins the chain even where it broke off."""
        if self._given and (known := await self._given(self._turn)):
            return await self._take(known)
        turn, self._phase = self._turn, "final_reply" if last_word else "request"
        request = RequestContext(
            turn,
            turn.meter.rounds + 1,
            [*turn.messages, user(last_word)] if last_word else turn.messages,
            system=self._system,
            options=dict(self._options),
            stream=self._stream,
            is_final=bool(last_word),
        )
        await self._hooks.in_order("on_before_request", request)
        await turn.emit(RequestStarted(request.round, host=self._endpoint.host, final=bool(last_word)))
        turn.meter.rounds += 1
        began, there = time.monotonic(), self._endpoint
        builder = ReplyBuilder(wire=there.dialect, host=there.host, model=there.model)
        try:
            await self._read(request, builder)
        finally:
            reply = builder.reply()
            self._outcome.rounds.append(reply)
            turn.meter.usage += reply.usage
            if reply.message.parts or reply.complete:
                await self._append(reply.message)
            await turn.emit(
                ReplyFinished(
                    request.round,
                    reply.message,
                    reply.stop_reason,
                    reply.usage,
                    reply.complete,
                    seconds=time.monotonic() - began,
                    finish_reason=reply.finish_reason,
                    explanation=reply.explanation,
                )
            )
        if reply.complete and reply.stop_reason == "unknown" and not reply.finish_reason:
            await turn.emit(
                Notice("The server did not say why the reply ended: it may be cut short.", "warning", "no_stop_reason")
            )
        if not reply.complete:
            raise IncompleteReply(
                "The reply broke off before it was complete; what came is kept, and none of its calls ran.",
                fix="`%%chat --resume` goes on from the last whole round; running the cell again begins anew.",
            )
        return reply

    async def _read(self, request: RequestContext, builder: ReplyBuilder) -> None:
        """Pass every delta through the plugins, the builder and the door, in this order."""
        is_watched = bool(self._hooks.of("on_stream_data"))
        async with aclosing(self._endpoint.stream(request.prompt())) as deltas:
            async for delta in deltas:
                for seen in await self._watched(delta, request.round) if is_watched else (delta,):
                    builder.add(seen)
                    await self._turn.emit(seen)
                    if self._phase == "request" and not isinstance(seen, Retrying):
                        self._phase = "stream"

    async def _watched(self, delta: Delta, round: int) -> list[Delta]:
        """Give what the plugins make of a delta: itself, another one, several, or none."""
        flowing = [delta]
        for _, hook in self._hooks.of("on_stream_data"):
            passed: list[Delta] = []
            for one in flowing:
                context = StreamContext(self._turn, round, one)
                await self._hooks.ask("on_stream_data", hook, context)
                passed += context.before
                if context.delta is not None:
                    passed.append(context.delta)
            flowing = passed
        return flowing

    async def _append(self, message: Message) -> None:
        context = AppendContext(self._turn, message)
        await self._hooks.in_order("on_message_append", context)
        if not context.is_prevented:
            self._turn.chain.append(context.message)
            await self._turn.emit(MessageAppended(context.message))

    async def _after(self, reply: Reply) -> bool:
        """Let every plugin act upon the reply, all together; says whether another request is wanted."""
        self._phase = "hook"
        deferred: list[Appended] = []
        hooks = self._hooks.of("on_after_request")
        contexts = [
            ReplyContext(self._turn, self._turn.meter.rounds, reply, place, self._append, deferred)
            for place, _ in hooks
        ]
        asked = zip(hooks, contexts, strict=True)
        try:
            await _all([self._hooks.ask("on_after_request", hook, context) for (_, hook), context in asked])
        finally:
            for context in contexts:
                context.is_open = False
        for waiting in sorted(deferred, key=lambda item: (-item.priority, item.plugin, item.sequence)):
            await self._append(waiting.message)
        # A provider that pauses wants its own words back and goes on: https://docs.claude.com/en/api/handling-stop-reasons
        return reply.stop_reason == "paused" or any(context.wants_request for context in contexts)

    async def _last_word(self, text: str) -> None:
        """Ask once more, without tools; a call it asks for all the same is answered by nobody and dropped."""
        reply = await self._request(last_word=text)
        last = self._turn.chain[-1] if self._turn.chain else reply.message
        if last.role == "assistant" and last.calls:
            self._turn.chain[-1] = last.with_parts([part for part in last.parts if part.kind != "call"])
        if not reply.text.strip():
            await self._turn.emit(Notice("The model gave no final reply.", level="warning"))

    async def _finish(self) -> None:
        """End hooks for a completed or cancelled turn, then every clean-up, then the last event."""
        turn, outcome = self._turn, self._outcome
        turn.status = outcome.status
        if outcome.status in ("completed", "cancelled"):
            try:
                await self._hooks.in_order("on_turn_end", turn)
            except NbtoolError as error:
                self._phase, outcome.status = "hook", "error"
                await self._report(error)
        for cleanup in reversed(self._cleanups):
            try:
                await self._hooks.ask("a clean-up", _without_context(cleanup), turn)
            except NbtoolError as error:
                self._phase = "hook"
                await self._report(error)
        outcome.text = turn.text or next((r.text for r in reversed(outcome.rounds) if r.text.strip()), "")
        meter = turn.meter
        await turn.emit(
            TurnEnded(
                outcome.status,
                outcome.text,
                meter.usage,
                meter.rounds,
                meter.calls,
                meter.seconds,
                error=str(outcome.error or ""),
                end_reason=outcome.end_reason,
            )
        )


def _without_context(cleanup: Cleanup) -> Callable[[Any], Any]:
    return lambda _: cleanup()


async def _all(asked: Sequence[Coroutine[Any, Any, Any]]) -> None:
    """Wait for all of them together; the first error stops the others. A single one needs no task of its own."""
    if len(asked) == 1:
        await asked[0]
        return
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        await asyncio.gather(*tasks)
    finally:
        await _drain(tasks)


async def _drain(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Stop what still runs and wait for it: nothing of a round outlives the round."""
    if running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*running, return_exceptions=True)
