"""One HTTP exchange: a POST, its time limits, and the deltas of the reply as they arrive.

Only decoded deltas count as progress, not bytes: a server that only keeps the connection alive runs into the same
timeout as a silent one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nbtool.errors import IncompleteReply, InvalidReply, ProviderError, TimedOut, WireError
from nbtool.events import Delta, ReplyEnd
from nbtool.server_url import parse_server_url
from nbtool.wire.base import Decoder, Request
from nbtool.wire.framing.provider_errors import can_retry
from nbtool.wire.providers.connection import Connection
from nbtool.wire.transport import traffic
from nbtool.wire.transport.client_pool import client_for, is_loopback
from nbtool.wire.transport.errors.connection_errors import connect_error, disconnect_error, is_certificate_required
from nbtool.wire.transport.errors.error_body import read_error
from nbtool.wire.transport.request.authorization import Authorization
from nbtool.wire.transport.response.cooperative_decoding import run_decoder
from nbtool.wire.transport.response.decompression import read_body
from nbtool.wire.transport.response.readahead import ReadAhead
from nbtool.wire.transport.retry import Deadline, Timeouts

if TYPE_CHECKING:
    import httpx

DRAIN_SECONDS = 0.05
"""Seconds to wait for the end of the body after the end of the reply, so that the connection can be reused."""

_RETRY_FIX = "Send it again."
_NO_STREAM_FIX = "Send it again with `--set stream=false`: some servers report errors only without streaming."


class Retryable(Exception):
    """An error after which the same request may succeed."""

    def __init__(self, error: WireError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class HttpExchange:
    """A request to a server and its response; `content` is its body, and `label` names the server in error messages."""

    decoder: Decoder
    base_url: str
    label: str
    connection: Connection
    timeouts: Timeouts
    request: Request
    content: bytes
    authorization: Authorization
    max_bytes: int
    note_headers: Callable[[Mapping[str, str]], None] = lambda _: None

    async def batches(self) -> AsyncGenerator[list[Delta], None]:
        """Send the request and yield the deltas of each chunk, none of them empty.

        Raises:
            Retryable: the same request may succeed later.
            nbtool.errors.WireError: it failed for another reason.
        """
        decoder, stream = self.decoder, self.request.stream
        deadline = Deadline(self.timeouts.first_token if stream else self.timeouts.total)
        async with (
            self._response(deadline) as response,
            aclosing(ReadAhead(read_body(response, self.max_bytes, self.label))) as body,
        ):
            size = buffered = 0
            while chunk := await self._read_chunk(body, deadline):
                was_done, deltas = decoder.is_done, list[Delta]()
                size += len(chunk)
                buffered += len(chunk)  # a small chunk may complete an event of many megabytes
                error = await run_decoder(partial(decoder.feed, chunk, deltas), buffered)
                if deltas or decoder.is_done is not was_done:
                    deadline.reset(self._idle_limit())
                if deltas:
                    buffered = 0
                    yield deltas
                if error:
                    raise _marked(error)
                if deltas and isinstance(deltas[-1], ReplyEnd):
                    await body.drain(DRAIN_SECONDS)
                    return
            deltas, error = await self._close(size)
            if deltas:
                yield deltas
            if error:
                raise _marked(error)

    async def _close(self, size: int) -> tuple[list[Delta], Exception | None]:
        """Return the last deltas of a body of this size, and the error after them."""
        deltas: list[Delta] = []
        error = await run_decoder(partial(self.decoder.close, deltas), size)
        if pending := self.decoder.pending:
            raise InvalidReply(
                f"{self.label} runs this request in the background (status {pending!r}), which is not supported.",
                fix="Remove the option `background`.",
            )
        if not (size or deltas or error):
            fix = _NO_STREAM_FIX if self.request.stream else _RETRY_FIX
            raise Retryable(IncompleteReply(f"{self.label} closed the connection without a reply.", fix=fix))
        return deltas, error

    def _idle_limit(self) -> float:
        """Return the time limit for the next delta."""
        if self.decoder.is_done:
            return self.timeouts.trailing
        return self.timeouts.idle if self.request.stream else self.timeouts.total

    async def _read_chunk(self, body: ReadAhead, deadline: Deadline) -> bytes:
        """Return the next bytes, empty once the reply is over."""
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        try:
            return await body.read(deadline)
        except TimeoutError:
            if self.decoder.is_done:
                return b""
            raise TimedOut(
                f"{self.label} sent no new data for {deadline.limit:g} s.", fix="Try again, or choose another model."
            ) from None
        except (httpx.HTTPError, ssl.SSLError) as error:
            if self.decoder.is_done:
                return b""
            raise Retryable(disconnect_error(error, self.label)) from None

    @asynccontextmanager
    async def _response(self, deadline: Deadline) -> AsyncIterator[httpx.Response]:
        """Send the request and yield a successful response, which is closed at the end of the context."""
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        request, content = self.request, self.content
        url = self.base_url.rstrip("/") + request.path
        client = client_for(url, self.connection)
        limits = httpx.Timeout(None, connect=self.timeouts.connect)
        http_request = client.build_request(
            "POST", url, content=content, headers=request.headers, params=request.query or None, timeout=limits
        )
        try:
            async with asyncio.timeout(deadline.remaining):
                with traffic.counting(parse_server_url(self.base_url).netloc, len(content)):
                    response = await client.send(http_request, auth=self.authorization, stream=True)
        except (TimeoutError, httpx.HTTPError, ssl.SSLError) as error:  # httpx passes on alerts of TLS 1.3
            raise self._connect_failure(error, deadline.limit) from None
        try:
            self.note_headers(response.headers)
            if response.status_code >= 300:
                refusal, can_retry = await read_error(response, self.label)
                raise Retryable(refusal) if can_retry else refusal
            yield response
        finally:
            await response.aclose()

    def _connect_failure(self, error: Exception, limit: float) -> Exception:
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        if isinstance(error, httpx.ConnectTimeout):
            seconds = self.timeouts.connect
            fix = (
                "Start it, or choose another model."
                if is_loopback(parse_server_url(self.base_url).host)
                else "Check the address and the network."
            )
            return Retryable(TimedOut(f"{self.label} did not answer within {seconds:g} s.", fix=fix))
        if isinstance(error, TimeoutError):
            return TimedOut(f"{self.label} sent no data for {limit:g} s.", fix="Try again later.")
        if isinstance(error, httpx.ConnectError | httpx.ProxyError):
            failure, can_retry = self._connect_error(error)
            return Retryable(failure) if can_retry else failure
        if is_certificate_required(error):
            return self._connect_error(error)[0]
        is_tls = self.base_url.startswith("https:") and not self.connection.client_certificate
        return Retryable(disconnect_error(error, self.label, may_lack_certificate=is_tls))

    def _connect_error(self, error: Exception) -> tuple[WireError, bool]:
        proxy = self.connection.proxy
        return connect_error(error, self.label, self.base_url, proxy=proxy.get_secret_value() if proxy else "")


def _marked(error: Exception) -> Exception:
    """Mark an error after which the request may be retried."""
    return Retryable(error) if isinstance(error, ProviderError) and can_retry(error) else error
