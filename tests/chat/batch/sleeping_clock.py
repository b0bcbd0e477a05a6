"""A clock for tests of delays."""

from __future__ import annotations

import asyncio


class SleepingClock:
    """A time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass; of several sleepers at once the longest counts."""
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)
