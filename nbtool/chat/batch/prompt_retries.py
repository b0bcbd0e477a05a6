"""The retries of one prompt of a map: of a request that was refused, and of a turn whose reply broke off."""

from __future__ import annotations

from collections.abc import Mapping

from nbtool.chain.hooks import ReplyContext, RequestContext
from nbtool.chain.request_size import text_size
from nbtool.chat.batch.shared_backoff import MAX_WAIT_SECONDS, SharedBackoff
from nbtool.errors import ConnectionFailed, ProviderError, RateLimited, ServerOverloaded, TimedOut, WireError
from nbtool.wire.framing.provider_errors import is_out_of_credit
from nbtool.wire.framing.rate_limits import parse_rate_limits

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
        self._host = self._model = ""
        self._chars, self._number = 0, 0  # of the request that was sent last; 0 is one of another connection

    async def on_before_request(self, request: RequestContext) -> None:
        """Wait until the request may be sent."""
        seconds, self._delay = self._delay, 0.0
        self._host, self._model = request.turn.host, request.turn.model
        counts = self._backoff.counts_tokens(self._host, self._model)
        self._chars = text_size(request.prompt()) if counts else 0
        await self._send(seconds)

    def on_after_request(self, reply: ReplyContext) -> None:
        """Allow the same number for the next reply, and learn what this one has used."""
        self._used = self._resent = 0
        if self._number:
            self._backoff.learn(reply.turn.host, reply.turn.model, self._chars, reply.reply.usage)
        self.end()

    def note_headers(self, host: str, model: str, headers: Mapping[str, str]) -> None:
        """Read which limits the provider reports."""
        if self._number:
            self._backoff.report(self._number, host, model, parse_rate_limits(headers))

    def end(self) -> None:
        """Note that no request is under way."""
        self._backoff.release(self._number)
        self._number = 0

    async def _send(self, seconds: float) -> None:
        self.end()
        self._number = await self._backoff.wait(seconds, self._host, self._model, self._chars)

    def delay_after(self, error: WireError, attempt: int) -> float | None:
        """Return the seconds before a request is sent again; None if it is not: the other prompts wait all the same."""
        delay = self._backoff.delay_after(error, self._used + attempt)
        if self._used + attempt > self._limit:
            return None
        self._resent += delay is not None
        return delay

    async def wait(self, seconds: float) -> None:
        """Wait before a request is sent again."""
        await self._send(seconds)

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
