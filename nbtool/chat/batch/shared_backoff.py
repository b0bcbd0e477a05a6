"""The delays that all requests of a map share: while the provider is busy, and between any two requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from nbtool.chat.batch.rate_limiter import Cost, RateLimiter
from nbtool.clock import monotonic
from nbtool.errors import ConnectionFailed, NbtoolError, ProviderError, RateLimited, ServerOverloaded, TimedOut
from nbtool.messages import Usage
from nbtool.wire.framing.rate_limits import RateLimit, Unit
from nbtool.wire.transport.retry import RetryPolicy

MAX_WAIT_SECONDS = 600.0
"""Longest Retry-After that is waited for, in seconds; with a longer one the error is returned instead."""

LOOK_SECONDS = 0.5
"""Longest wait for the limits of a connection before they are looked at again: an answer may have changed them."""

BUSY_STATUSES = frozenset({503, 529})
"""Statuses from 500 on by which a server says that it is busy for everybody; with the others one request failed."""


class SharedBackoff:
    """Delays the requests of all prompts while the provider is busy, and sends at most `per_minute` of them.

    The `limiter` knows what the connection may send; all maps of the connection share it and its pauses.
    """

    def __init__(
        self,
        per_minute: float | None = None,
        *,
        limiter: RateLimiter | None = None,
        delays: RetryPolicy = RetryPolicy(),  # noqa: B008 - it is immutable
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._delays, self._clock, self._sleep = delays, clock, sleep
        self.limiter = limiter or RateLimiter(clock=clock)
        self._pause = self.limiter.pause
        self._next = 0.0
        self._lock = asyncio.Lock()  # first come, first served

    @property
    def remaining(self) -> float:
        """Seconds until the provider is asked again, as far as is known."""
        return max(0.0, self._pause.until - self._clock(), self.limiter.delay(Cost()))

    def pause(self, seconds: float) -> None:
        """Delay all requests for so many seconds; the longest delay applies."""
        self._pause.until = max(self._pause.until, self._clock() + min(seconds, MAX_WAIT_SECONDS))

    def delay_after(self, error: NbtoolError, attempt: int) -> float | None:
        """Return the seconds before retry `attempt` (from 1) after an error; None if the provider asks for too many.

        All requests wait so long if the error concerns all of them.
        """
        retry_after = error.retry_after if isinstance(error, ProviderError) else None
        if retry_after is not None and retry_after > MAX_WAIT_SECONDS:
            return None
        delay = self._delays.delay(attempt, retry_after)
        if _concerns_all(error):
            self.pause(delay)
        return delay

    async def wait(self, seconds: float = 0.0, host: str = "", model: str = "", chars: int = 0) -> int:
        """Wait so many seconds, and then until the next request may be sent; return its number at the limiter.

        That is 0 for a request of another connection than that of the limiter: it has no cost.
        """
        if seconds > 0:
            await self._sleep(seconds)
        cost = self.limiter.estimate(chars) if self.limiter.counts(host, model) else None
        async with self._lock:
            while (left := max(self._pause.until, self._next) - self._clock()) > 0 or (
                cost and (left := min(self.limiter.delay(cost), LOOK_SECONDS)) > 0
            ):
                await self._sleep(left)
            self._next = self._clock() + self._interval
            return self.limiter.admit(cost) if cost else 0

    def counts_tokens(self, host: str, model: str) -> bool:
        """Whether the characters of a request count: only then they are measured, which takes a while."""
        return self.limiter.counts(host, model) and self.limiter.counts_tokens

    def learn(self, host: str, model: str, chars: int, usage: Usage) -> None:
        """Note what a request of so many characters has used."""
        if self.limiter.counts(host, model):
            self.limiter.learn(chars, usage)

    def report(self, number: int, host: str, model: str, limits: Mapping[Unit, RateLimit]) -> None:
        """Note which limits the answer to a request reports; those of another connection say nothing of this one."""
        if self.limiter.counts(host, model):
            self.limiter.report(number, limits)

    def release(self, number: int) -> None:
        """Note that a request has ended."""
        self.limiter.release(number)


def _concerns_all(error: NbtoolError) -> bool:
    """Whether other requests would fail as well: a limit, a busy or unreachable server, but not an error 500 of one."""
    if isinstance(error, ServerOverloaded):
        is_of_one = error.status is not None and error.status >= 500 and error.status not in BUSY_STATUSES
        return error.retry_after is not None or not is_of_one
    return isinstance(error, RateLimited | TimedOut | ConnectionFailed)
