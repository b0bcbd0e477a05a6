"""The engine: hooks → request → stream → append → again, until the model stops.

One turn is one run of one engine. Tools, privacy and budgets are plugins; the engine handles requests and replies, and
guarantees a limit on the rounds, one status, and a final reply of the model when a limit is reached or its reply is
empty. The last hooks of a turn and its clean-ups have a time limit each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from nbtool.argument_check import check_answer
from nbtool.chain.hook_calls import Hook, Hooks
from nbtool.chain.hooks import Cleanup, DeferredMessage, ReplyContext, TurnContext
from nbtool.chain.request import Outcome, ReplySource, Requests
from nbtool.chain.stop_reasons import (
    EMPTY_REPLY_PROMPT,
    FINAL_PROMPT,
    IMMEDIATE_STOPS,
    LIMIT_NOTICE,
    RAISE_LIMIT,
    RequestPurpose,
    end_reason_of,
    is_empty,
    name_setting,
    notice_of,
)
from nbtool.chain.task_stopping import retrieve_exception, shield_until_done, stop_all
from nbtool.chain.usage_meter import budget_error
from nbtool.clock import monotonic
from nbtool.errors import HookFailed, LimitReached, NbtoolError
from nbtool.events import ErrorRaised, Notice, TurnEnded, TurnStatus
from nbtool.wire.base import CHARGES_NOTHING, REPORTS_COST, Endpoint
from nbtool.wire.reply import Reply

TIMEOUT_TEXT = "The turn took longer than {seconds:g} s and was stopped in {name} of the plugin {owner}."


class TurnEnding:
    """Runs the hooks and clean-ups at the end of a turn; `is_late` if the turn was stopped or has no time left.

    A turn that is stopped while it ends is late from then on.
    """

    def __init__(self, turn: TurnContext, *, is_late: bool) -> None:
        self._turn = turn
        self._late_since = monotonic() if is_late else None
        self._is_timeout = False

    async def run_hook(self, hook: Hook) -> None:
        """Run one hook or clean-up, within its time limit.

        Raises:
            NbtoolError: it failed, or took too long.
        """
        seconds = self._remaining()
        start = monotonic()
        task = asyncio.ensure_future(hook.run(self._turn))
        stop = asyncio.ensure_future(self._turn.cancel.wait())
        try:
            done, _ = await asyncio.wait({task, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if stop in done and not task.done():
                await asyncio.wait({task}, timeout=min(self._remaining(), max(0.0, seconds - monotonic() + start)))
        finally:
            stop.cancel()
        if not task.done():
            await stop_all([task], self._turn.limits.hooks.minimum)
            raise self._timeout_error(hook, monotonic() - start)
        task.result()

    def final_status(self, status: TurnStatus) -> TurnStatus:
        """Return the status of a turn after an end hook or a clean-up failed; only a completed one has another."""
        if status != "completed":
            return status
        return "timeout" if self._is_timeout else "error"

    def _remaining(self) -> float:
        """Return the time limit of the next hook, in seconds."""
        turn, limits = self._turn, self._turn.limits.hooks
        if self._late_since is None and turn.cancel.is_set:
            self._late_since = monotonic()
        if self._late_since is not None:
            remaining = limits.stopped_end - (monotonic() - self._late_since)
        elif turn.limits.seconds is None:
            remaining = limits.end
        else:
            remaining = min(limits.end, turn.limits.seconds - turn.meter.seconds)
        return max(remaining, limits.minimum)

    def _timeout_error(self, hook: Hook, seconds: float) -> HookFailed | LimitReached:
        turn = self._turn
        if turn.limits.seconds is not None and turn.meter.seconds >= turn.limits.seconds and self._late_since is None:
            self._is_timeout, self._late_since = True, monotonic()
            return LimitReached(TIMEOUT_TEXT.format(seconds=turn.limits.seconds, name=hook.name, owner=hook.owner))
        return HookFailed(hook.timeout_message(round(seconds, 1)))


class Engine:
    """Runs one turn against one endpoint; a reply of `reply_source` replaces a request, and costs nothing."""

    def __init__(  # noqa: PLR0913 - the parts of a run, as keywords
        self,
        turn: TurnContext,
        endpoint: Endpoint,
        plugins: Sequence[object] = (),
        *,
        system: str = "",
        options: dict[str, Any] | None = None,
        stream: bool = True,
        reply_source: ReplySource | None = None,
    ) -> None:
        self._turn = turn
        turn.host, turn.model, turn.dialect = endpoint.host, endpoint.model, endpoint.dialect
        turn.provider, turn.abilities = getattr(endpoint, "provider", ""), getattr(endpoint, "abilities", frozenset())
        turn.meter.is_free = CHARGES_NOTHING in turn.abilities
        self._hooks = Hooks(plugins)
        is_limited = turn.limits.cost is not None
        self._needs_price = is_limited or any(getattr(plugin, "needs_price", False) for plugin in plugins)
        self._needs_listed_price = any(getattr(plugin, "needs_listed_price", False) for plugin in plugins)
        self._cleanups: list[Hook] = []
        self._other_errors: list[BaseException] = []
        self._outcome = Outcome()
        self._requests = Requests(
            turn, endpoint, self._hooks, self._outcome, system, options, stream=stream, reply_source=reply_source
        )

    async def run(self) -> Outcome:
        """Run the turn to its end; errors become part of the outcome, only external cancellation is raised."""
        work = asyncio.ensure_future(self._rounds())
        work.add_done_callback(retrieve_exception)
        try:
            await self._wait(work)
        finally:
            await shield_until_done(self._close())
        return self._outcome

    async def _wait(self, work: asyncio.Future[None]) -> None:
        """Wait for the rounds until the turn is stopped or times out, and set its status."""
        outcome, turn = self._outcome, self._turn
        stop = asyncio.ensure_future(turn.cancel.wait())
        try:
            await asyncio.wait({work, stop}, timeout=turn.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            in_time = work.done() or turn.cancel.is_set
            await shield_until_done(self._stop_work(work))
            outcome.status = await self._status_of(work, in_time=in_time)
        except asyncio.CancelledError:
            await shield_until_done(self._stop_work(work))  # no task may outlive the turn
            raise
        finally:
            stop.cancel()

    async def _stop_work(self, work: asyncio.Future[None]) -> None:
        """Cancel the work and wait for it, for a limited time."""
        if work.done():
            return
        work.cancel()
        _, pending = await asyncio.wait({work}, timeout=self._turn.limits.hooks.drain)
        if pending:
            await self._turn.emit(Notice("A stopped task has not ended yet.", level="warning"))

    async def _status_of(self, work: asyncio.Future[None], *, in_time: bool) -> TurnStatus:
        error = work.exception() if work.done() and not work.cancelled() else None
        if self._turn.cancel.is_set:
            errors = [error, *self._other_errors] if error else self._other_errors
            # A real error takes precedence over a simultaneous stop.
            real = [item for item in errors if isinstance(item, HookFailed) or not isinstance(item, NbtoolError)]
            self._outcome.errors.extend(real)
            return "cancelled"
        if not in_time:
            limit = LimitReached(f"The turn took longer than {self._turn.limits.seconds:g} s and was stopped.")
            self._outcome.end_reason = "seconds"
            await self._report(limit, *self._other_errors)
            return "timeout"
        if error is None:
            return "completed" if work.done() and not work.cancelled() else "cancelled"
        await self._report(error, *self._other_errors)
        return "error"

    async def _report(self, *errors: BaseException) -> None:
        for error in errors:
            self._outcome.error_phase = "" if self._outcome.errors else self._outcome.phase
            self._outcome.errors.append(error)
            text = str(error) if isinstance(error, NbtoolError) else f"{type(error).__name__}: {error}"
            await self._turn.emit(ErrorRaised(self._outcome.phase, text, error=type(error).__name__))

    async def _rounds(self) -> None:
        await self._run_start_hooks()
        await self._find_price()
        turn, has_room = self._turn, self._turn.limits.max_rounds > 1
        purpose = RequestPurpose(is_final=not has_room, has_tools=has_room, setting="" if has_room else "max_rounds")
        while True:
            await self._append_additions()
            reply = await self._requests.make(purpose)
            is_wanted = await self._run_reply_hooks(reply, purpose)
            following = await self._purpose_after(reply, purpose, is_wanted=is_wanted)
            if following is None:
                break
            purpose = following
        if reason := end_reason_of(reply):
            self._outcome.end_reason = self._outcome.end_reason or reason
            if reason not in IMMEDIATE_STOPS and reason not in turn.notice_topics:
                await turn.emit(notice_of(reason, reply.explanation))
        elif "rounds" in turn.notice_topics:  # its only request had no tools
            self._outcome.end_reason = self._outcome.end_reason or "rounds"

    async def _purpose_after(self, reply: Reply, purpose: RequestPurpose, *, is_wanted: bool) -> RequestPurpose | None:
        """Return the purpose of the request after a reply; None if it was the last one."""
        if is_wanted and not purpose.is_final:
            return await self._next_purpose()
        if is_wanted and self._turn.meter.can_request():
            return replace(purpose, prompt="")
        if not is_wanted and self._can_answer(reply) and self._may_repeat(purpose):
            self._require_budget()
            return replace(purpose, prompt=EMPTY_REPLY_PROMPT, is_final=True, has_tools=not purpose.is_final)
        if self._turn.additions.close_if_empty() or not self._can_go_on(reply, purpose):
            return None
        return await self._next_purpose()

    async def _append_additions(self) -> None:
        """Append what the person has added since the last request."""
        for message in self._turn.additions.take(self._turn.meter.rounds):
            await self._requests.append(message)

    def _can_go_on(self, reply: Reply, purpose: RequestPurpose) -> bool:
        """Whether one more request may take what was added during a finished reply."""
        is_open = not purpose.is_final and end_reason_of(reply) not in IMMEDIATE_STOPS
        return is_open and self._has_room() and self._turn.meter.exceeded_budget() is None

    def _can_answer(self, reply: Reply) -> bool:
        """Whether a reply is empty although the turn has done work, and one more request may bring an answer."""
        is_open = is_empty(reply) and end_reason_of(reply) not in IMMEDIATE_STOPS
        return is_open and bool(self._turn.chain[:-1]) and self._has_room()

    def _may_repeat(self, purpose: RequestPurpose) -> bool:
        """Whether an empty reply is requested once more: without tools if it was a final one that called some."""
        return not purpose.is_final or (purpose.has_tools and bool(self._outcome.rounds[-1].calls))

    def _has_room(self) -> bool:
        return self._turn.meter.rounds < self._turn.limits.max_rounds

    async def _next_purpose(self) -> RequestPurpose:
        """Return the purpose of the next request: another round, or a final reply if a limit was reached.

        Raises:
            LimitReached: the budget is spent, so no further request is allowed.
        """
        self._require_budget()
        limit = self._turn.meter.reached_limit()
        if limit is None:
            return RequestPurpose()
        self._outcome.end_reason = limit.kind
        text = LIMIT_NOTICE.format(reason=limit.text) + name_setting(RAISE_LIMIT, limit.setting)
        await self._turn.emit(Notice(text, "warning", limit.kind))
        return RequestPurpose(FINAL_PROMPT.format(reason=limit.text), is_final=True, setting=limit.setting)

    def _require_budget(self) -> None:
        if exceeded := self._turn.meter.exceeded_budget():
            self._outcome.end_reason = exceeded.kind
            raise budget_error(exceeded, self._turn.turn_id)

    async def _find_price(self) -> None:
        """Find out whether the price of the model is known, if a limit or a plugin depends on it."""
        turn = self._turn
        find = getattr(self._requests.endpoint, "find_price", None)
        if self._needs_price and find:
            turn.meter.estimate_of = await find()
            if turn.meter.estimate_of:
                turn.abilities |= {REPORTS_COST}
        find_listed = getattr(self._requests.endpoint, "find_listed_price", None)
        if self._needs_listed_price and find_listed:
            turn.meter.listed_price_of = await find_listed()

    async def _run_start_hooks(self) -> None:
        for hook in self._hooks.get("on_turn_start"):
            answer = await hook.run(self._turn)
            cleanup = check_answer(f"on_turn_start of the plugin {hook.owner}", Cleanup | None, answer)
            if cleanup:
                self._cleanups.append(hook.cleanup(cleanup))

    async def _run_reply_hooks(self, reply: Reply, purpose: RequestPurpose) -> bool:
        """Pass the reply to all plugins concurrently; return whether another request is wanted."""
        self._outcome.phase = "hook"
        deferred: list[DeferredMessage] = []
        hooks = self._hooks.get("on_after_request")
        meter = self._turn.meter
        can_request = meter.can_request() if purpose.is_final else self._has_room()
        contexts = [
            ReplyContext(
                self._turn,
                meter.rounds,
                reply,
                hook.position,
                self._requests.append,
                deferred,
                is_final=purpose.is_final,
                can_request=can_request,
            )
            for hook in hooks
        ]
        try:
            work = [hook.run(context) for hook, context in zip(hooks, contexts, strict=True)]
            await _run_all(work, self._turn.limits.hooks.drain, self._other_errors)
        finally:
            for context in contexts:
                context.is_open = False
        for message in sorted(deferred, key=lambda item: (-item.priority, item.plugin, item.sequence)):
            await self._requests.append(message.message)
        # A paused reply is sent back to be continued: https://docs.claude.com/en/api/handling-stop-reasons
        return reply.stop_reason == "paused" or any(context.wants_request for context in contexts)

    async def _close(self) -> None:
        """Run the end hooks of a completed or cancelled turn, then every clean-up, then emit the last event."""
        turn, outcome = self._turn, self._outcome
        turn.status = outcome.status
        ending = TurnEnding(turn, is_late=outcome.status != "completed")
        if outcome.status in ("completed", "cancelled"):
            for hook in self._hooks.get("on_turn_end"):
                try:
                    await ending.run_hook(hook)
                except NbtoolError as error:
                    await self._report_end(error, ending)
        for cleanup in reversed(self._cleanups):
            try:
                await ending.run_hook(cleanup)
            except NbtoolError as error:
                await self._report_end(error, ending)
        outcome.text = turn.text or next((r.answer for r in reversed(outcome.rounds) if r.text.strip()), "")
        meter = turn.meter
        await turn.emit(
            TurnEnded(
                outcome.status,
                turn.text,
                meter.usage,
                meter.rounds,
                meter.calls,
                meter.seconds,
                error=str(outcome.error or ""),
                end_reason=outcome.end_reason,
                error_phase=outcome.error_phase,
            )
        )

    async def _report_end(self, error: NbtoolError, ending: TurnEnding) -> None:
        """Report the error of an end hook or a clean-up; the turn of which it is the first error ends with it."""
        self._outcome.phase = "hook"
        self._outcome.status = ending.final_status(self._outcome.status)
        await self._report(error)


async def _run_all(
    work: Sequence[Coroutine[Any, Any, Any]], drain_seconds: float, other_errors: list[BaseException]
) -> None:
    """Run the coroutines concurrently; the first error stops the others. A single one needs no task.

    The errors of the others, until they have stopped, go to `other_errors`.
    """
    if len(work) == 1:
        await work[0]
        return
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        await asyncio.gather(*tasks)
    except BaseException as first:
        await shield_until_done(stop_all(tasks, drain_seconds))
        errors = (task.exception() for task in tasks if task.done() and not task.cancelled())
        other_errors.extend(error for error in errors if error and error is not first)
        raise
