"""How long to wait, and how often to try again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds.

    `connect`: until the connection stands. `first_token`: until the first delta. `idle`: from one delta to the next.
    `total`: for a reply that is not streamed. `trailing`: after the finish reason, for the usage that may follow it.
    """

    connect: float = 10.0
    first_token: float = 120.0
    idle: float = 60.0
    total: float = 600.0
    trailing: float = 0.25


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how many seconds a request is repeated; `max_delay` bounds what a provider may ask for."""

    attempts: int = 2
    min_delay: float = 0.5
    max_delay: float = 60.0

    def delay(self, attempt: int, requested: float | None) -> float:
        """Give the seconds before an attempt (from 1): what the provider asked for, else twice as long each time."""
        if requested is not None:
            return max(requested, self.min_delay)
        return min(self.min_delay * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.25), self.max_delay)


class Deadline:
    """Counts down only while we wait: what the listener does with a delta is not the provider's time."""

    def __init__(self, limit: float) -> None:
        self.reset(limit)

    def reset(self, limit: float) -> None:
        """Begin anew."""
        self.limit = limit
        self.remaining = limit

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count while the block runs, and end it with TimeoutError when nothing is left."""
        clock = asyncio.get_running_loop().time
        start = clock()
        if self.remaining <= 0:
            raise TimeoutError
        try:
            async with asyncio.timeout(self.remaining):
                yield
        finally:
            self.remaining -= clock() - start


def format_delay(seconds: float) -> str:
    """Say when a time will have passed, and the hour where it is within a day."""
    hour = time.strftime(", at %H:%M", time.localtime(time.time() + seconds)) if seconds < 86_400 else ""
    return f"in {seconds:.0f} s{hour}" if seconds < 120 else f"in {seconds / 60:.0f} minutes{hour}"
