"""Back-off that all concurrent turns of a batch share."""

from __future__ import annotations

import asyncio
import time

from nbtool.chain.hooks import RequestContext, StreamContext
from nbtool.errors import ConnectionFailed, ProviderError, RateLimited, ServerOverloaded, TimedOut
from nbtool.events import Retrying
from nbtool.wire.transport.retry import RetryPolicy

MAX_WAIT_SECONDS = 600.0
"""Longest Retry-After that is waited for, in seconds; with a longer one the error is returned instead."""

TRANSIENT_ERRORS = (RateLimited, ServerOverloaded, TimedOut, ConnectionFailed)
"""Errors that may not occur again on a retry."""

_RETRIES = RetryPolicy()


class SharedBackoff:
    """A plugin that delays all requests while one of them has to wait."""

    hook_seconds = None  # Retry-After may exceed the default time limit of a hook
    runs_on_loop = True

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def remaining(self) -> float:
        """Seconds until the next request may be sent."""
        return max(0.0, self._until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Delay all requests for so many seconds; the longest delay applies."""
        self._until = max(self._until, time.monotonic() + min(seconds, MAX_WAIT_SECONDS))

    def should_retry(self, error: BaseException | None, attempt: int) -> bool:
        """Whether to retry a prompt that failed with `error`; delays all requests until then. Attempts count from 1."""
        if not isinstance(error, TRANSIENT_ERRORS):
            return False
        retry_after = error.retry_after if isinstance(error, ProviderError) else None
        if retry_after is not None and retry_after > MAX_WAIT_SECONDS:
            return False
        self.pause(_RETRIES.delay(attempt, retry_after))
        return True

    async def on_before_request(self, _: RequestContext) -> None:
        """Wait until the shared delay is over."""
        while left := self.remaining:
            await asyncio.sleep(left)

    def on_stream_data(self, stream: StreamContext) -> None:
        """Delay the other requests for as long as a retried one."""
        if isinstance(stream.delta, Retrying):
            self.pause(stream.delta.seconds)
