"""The end of a turn: its last hooks and its clean-ups, each within a bound."""

from __future__ import annotations

import asyncio
import time

from nbtool.chain import limits
from nbtool.chain.cancellation import stop_all
from nbtool.chain.hook_calls import Hook
from nbtool.chain.hooks import TurnContext
from nbtool.errors import HookFailed, LimitReached
from nbtool.events import TurnStatus

OVER_TIME = "The turn took longer than {seconds:g} s and was stopped in {name} of the plugin {owner}."


class Ending:
    """Asks the hooks and clean-ups at the end of a turn; `is_late` says that the turn was stopped or has no time left.

    A turn that is stopped meanwhile is late from then on.
    """

    def __init__(self, turn: TurnContext, *, is_late: bool) -> None:
        self._turn = turn
        self._late_since = time.monotonic() if is_late else None
        self._is_over_time = False

    async def ask(self, hook: Hook) -> None:
        """Ask one of them, and wait no longer than its bound.

        Raises:
            NbtoolError: it failed, or took too long.
        """
        seconds = self._left()
        began = time.monotonic()
        asking = asyncio.ensure_future(hook.ask(self._turn))
        stop = asyncio.ensure_future(self._turn.cancel.wait())
        try:
            done, _ = await asyncio.wait({asking, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if stop in done and not asking.done():
                await asyncio.wait({asking}, timeout=min(self._left(), max(0.0, seconds - time.monotonic() + began)))
        finally:
            stop.cancel()
        if not asking.done():
            await stop_all([asking], limits.LEAST_SECONDS)
            raise self._too_long(hook, time.monotonic() - began)
        asking.result()

    def status(self, status: TurnStatus) -> TurnStatus:
        """Give the status of a turn one of whose hooks failed here; a cancelled turn stays one."""
        if status == "cancelled":
            return status
        return "timeout" if self._is_over_time else "error"

    def _left(self) -> float:
        """Give the seconds that the next one has."""
        turn = self._turn
        if self._late_since is None and turn.cancel.is_set:
            self._late_since = time.monotonic()
        if self._late_since is not None:
            left = limits.STOPPED_SECONDS - (time.monotonic() - self._late_since)
        elif turn.limits.seconds is None:
            left = limits.END_SECONDS
        else:
            left = min(limits.END_SECONDS, turn.limits.seconds - turn.meter.seconds)
        return max(left, limits.LEAST_SECONDS)

    def _too_long(self, hook: Hook, seconds: float) -> HookFailed | LimitReached:
        turn = self._turn
        if turn.limits.seconds is not None and turn.meter.seconds >= turn.limits.seconds and self._late_since is None:
            self._is_over_time, self._late_since = True, time.monotonic()
            return LimitReached(OVER_TIME.format(seconds=turn.limits.seconds, name=hook.name, owner=hook.owner))
        return HookFailed(hook.too_long(round(seconds, 1)))
