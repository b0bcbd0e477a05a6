"""The end of a turn: its last hooks and its clean-ups, each with a time limit."""

from __future__ import annotations

import asyncio

from nbtool.chain.hook_calls import Hook
from nbtool.chain.hooks import TurnContext
from nbtool.chain.task_stopping import stop_all
from nbtool.clock import monotonic
from nbtool.errors import HookFailed, LimitReached
from nbtool.events import TurnStatus

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
