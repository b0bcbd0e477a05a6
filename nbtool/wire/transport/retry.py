"""Timeouts, retries and deadlines."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from nbtool.errors import ProviderError, WireError


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds.

    `connect`: until the connection is established. `first_token`: until the first delta. `idle`: from one delta to the
    next. `total`: for a reply without streaming. `trailing`: after the finish reason, for the usage that may follow it.
    """

    connect: float = 10.0
    first_token: float = 120.0
    idle: float = 60.0
    total: float = 600.0
    trailing: float = 0.25


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number and delay of retries; a provider that requests more than `max_delay` is not tried again.

    See `nbtool.wire.base.Retries`.
    """

    attempts: int = 2
    min_delay: float = 0.5
    max_delay: float = 60.0

    def delay_after(self, error: WireError, attempt: int) -> float | None:
        """Return the delay before retry `attempt` (from 1) after an error; None if there is none."""
        requested = error.retry_after if isinstance(error, ProviderError) else None
        if attempt > self.attempts or (requested is not None and requested > self.max_delay):
            return None
        return self.delay(attempt, requested)

    def delay(self, attempt: int, requested: float | None) -> float:
        """Return the delay before retry `attempt` (from 1): the requested one, else exponential backoff."""
        if requested is not None:
            return max(requested, self.min_delay)
        return min(self.min_delay * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.25), self.max_delay)

    async def wait(self, seconds: float) -> None:
        """Wait before a request is sent again."""
        await asyncio.sleep(seconds)


class Deadline:
    """A time limit of which only the waiting for the provider counts, not the processing of a delta."""

    def __init__(self, limit: float) -> None:
        self.reset(limit)

    def reset(self, limit: float) -> None:
        """Restart with a new limit, in seconds."""
        self.limit = limit
        self.remaining = limit


def format_delay(seconds: float) -> str:
    """Return a delay as text, with the time of day if it is within a day."""
    hour = time.strftime(", at %H:%M", time.localtime(time.time() + seconds)) if seconds < 86_400 else ""
    return f"in {seconds:.0f} s{hour}" if seconds < 120 else f"in {seconds / 60:.0f} minutes{hour}"
