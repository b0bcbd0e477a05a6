"""The retries of one prompt of a map: of a request that was refused, and of a turn whose reply broke off."""

from __future__ import annotations

from nbtool.chain.hooks import ReplyContext, RequestContext
from nbtool.chat.batch.shared_backoff import MAX_WAIT_SECONDS, SharedBackoff
from nbtool.errors import ConnectionFailed, ProviderError, RateLimited, ServerOverloaded, TimedOut, WireError
from nbtool.wire.framing.provider_errors import is_out_of_credit

TRANSIENT_ERRORS = (RateLimited, ServerOverloaded, TimedOut, ConnectionFailed)
"""Errors that may not occur again on a retry."""


class PromptRetries:
    """A plugin of the turns of one prompt, which waits before every request and allows `limit` retries of a reply.

    It takes the place of the endpoint's own retries (`nbtool.wire.base.Retries`), also in the sub-chats of the turns: a
    request that was refused is sent again in the same turn, so no call of it runs again. A turn is repeated as a
    whole where only that helps: its reply broke off, or the endpoint is the user's own. Both count together.
    """

    hook_seconds = None  # Retry-After may exceed the default time limit of a hook
    runs_on_loop = True
    max_delay = MAX_WAIT_SECONDS

    def __init__(self, backoff: SharedBackoff, limit: int) -> None:
        self._backoff, self._limit = backoff, limit
        self._used = 0  # by earlier turns, for the reply that is waited for
        self._resent = 0  # in the present turn, for the same reply
        self._delay = 0.0

    async def on_before_request(self, _: RequestContext) -> None:
        """Wait until the request may be sent."""
        seconds, self._delay = self._delay, 0.0
        await self._backoff.wait(seconds)

    def on_after_request(self, _: ReplyContext) -> None:
        """Allow the same number for the next reply."""
        self._used = self._resent = 0

    def delay_after(self, error: WireError, attempt: int) -> float | None:
        """Return the seconds before a request is sent again; None if it is not: the other prompts wait all the same."""
        delay = self._backoff.delay_after(error, self._used + attempt)
        if self._used + attempt > self._limit:
            return None
        self._resent += delay is not None
        return delay

    async def wait(self, seconds: float) -> None:
        """Wait before a request is sent again."""
        await self._backoff.wait(seconds)

    def may_repeat_turn(self, error: BaseException | None) -> bool:
        """Whether a turn that failed is repeated as a whole; its first request then waits as long as it should."""
        self._used, self._resent = self._used + self._resent + 1, 0
        if not isinstance(error, TRANSIENT_ERRORS):
            return False
        if isinstance(error, ProviderError) and is_out_of_credit(error):
            return False
        delay = self._backoff.delay_after(error, self._used)  # the other prompts wait also where this one gives up
        if delay is None or self._used > self._limit:
            return False
        self._delay = delay
        return True
