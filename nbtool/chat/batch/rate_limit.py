"""One patience with a provider, shared by all turns that ask it at the same time."""

from __future__ import annotations

import asyncio
import time

from nbtool.chain.hooks import RequestContext, StreamContext
from nbtool.errors import ConnectionFailed, ProviderError, RateLimited, ServerOverloaded, TimedOut
from nbtool.events import Retrying
from nbtool.wire.transport.retry import RetryPolicy

MAX_WAIT_SECONDS = 600.0
"""Seconds that a provider may ask everybody to wait; who is told to wait longer gets the error instead."""

TRANSIENT_ERRORS = (RateLimited, ServerOverloaded, TimedOut, ConnectionFailed)
"""Errors that may be gone when a prompt is asked again."""

_RETRIES = RetryPolicy()


class SharedBackoff:
    """A plugin that holds every request while one of them was told to wait."""

    hook_seconds = None  # a provider may ask for more patience than a hook has
    runs_on_loop = True

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def remaining(self) -> float:
        """How long requests are held from now on."""
        return max(0.0, self._until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Let nobody ask for so long; the longest wish counts."""
        self._until = max(self._until, time.monotonic() + min(seconds, MAX_WAIT_SECONDS))

    def should_retry(self, error: BaseException | None, attempt: int) -> bool:
        """Whether a prompt that ended so may be asked again; holds everybody until then. Attempts count from 1."""
        if not isinstance(error, TRANSIENT_ERRORS):
            return False
        retry_after = error.retry_after if isinstance(error, ProviderError) else None
        if retry_after is not None and retry_after > MAX_WAIT_SECONDS:
            return False
        self.pause(_RETRIES.delay(attempt, retry_after))
        return True

    async def on_before_request(self, _: RequestContext) -> None:
        """Wait until nobody has to."""
        while left := self.remaining:
            await asyncio.sleep(left)

    def on_stream_data(self, stream: StreamContext) -> None:
        """Hear that a request is made again after a while, and let the others wait as long."""
        if isinstance(stream.delta, Retrying):
            self.pause(stream.delta.seconds)
