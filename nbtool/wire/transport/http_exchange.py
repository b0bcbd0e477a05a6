"""One HTTP exchange: a POST, its time limits, and the deltas of the reply as they arrive.

Only decoded deltas count as progress, not bytes: a server that only keeps the connection alive runs into the same
timeout as a silent one.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nbtool.errors import IncompleteReply, InvalidReply, ProviderError, TimedOut, WireError
from nbtool.events import Delta, ReplyEnd
from nbtool.server_url import parse_server_url
from nbtool.wire.base import Decoder, Request
from nbtool.wire.delta_merging import coalesce
from nbtool.wire.framing.provider_errors import can_retry
from nbtool.wire.providers.connection import Connection
from nbtool.wire.transport import traffic
from nbtool.wire.transport.client_pool import client_for, is_loopback
from nbtool.wire.transport.errors.connection_errors import connect_error, disconnect_error, is_certificate_required
from nbtool.wire.transport.errors.error_body import read_error
from nbtool.wire.transport.request.authorization import Authorization
from nbtool.wire.transport.response.cooperative_decoding import decode_batch
from nbtool.wire.transport.response.decompression import read_body
from nbtool.wire.transport.response.readahead import ReadAhead
from nbtool.wire.transport.retry import Deadline, Timeouts

if TYPE_CHECKING:
    import httpx

DRAIN_SECONDS = 0.05
"""Seconds to wait for the end of the body after the end of the reply, so that the connection can be reused."""

_RETRY_FIX = "Send it again."
_NO_STREAM_FIX = "Send it again with `--no-stream`: some servers report errors only without streaming."


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

    async def deltas(self) -> AsyncGenerator[list[Delta], None]:
        """Send the request and yield the deltas of each chunk.

        Raises:
            Retryable: the same request may succeed later.
            nbtool.errors.WireError: it failed for another reason.
        """
        request = self.request
        deadline = Deadline(self.timeouts.first_token if request.stream else self.timeouts.total)
        decoder = self.decoder
        async with (
            self._response(deadline) as response,
            aclosing(ReadAhead(read_body(response, self.max_bytes, self.label))) as body,
        ):
            size = buffered = 0
            while chunk := await self._read_chunk(body, deadline, decoder):
                was_done = decoder.is_done
                size += len(chunk)
                buffered += len(chunk)  # a small chunk may complete an event of many megabytes
                deltas = await decode_batch(partial(_decode, decoder, chunk), buffered)
                buffered = 0 if deltas else buffered
                if deltas or decoder.is_done is not was_done:
                    deadline.reset(self._idle_limit(decoder))
                if deltas:
                    yield deltas
                    if isinstance(deltas[-1], ReplyEnd):
                        await body.drain(DRAIN_SECONDS)
                        return
            remaining = await decode_batch(partial(_close, decoder), size)
            if pending := getattr(decoder, "pending", ""):
                raise InvalidReply(
                    f"{self.label} runs this request in the background (status {pending!r}), which is not supported.",
                    fix="Remove the option `background`.",
                )
            if not (size or remaining):
                fix = _NO_STREAM_FIX if request.stream else _RETRY_FIX
                raise Retryable(IncompleteReply(f"{self.label} closed the connection without a reply.", fix=fix))
            yield remaining
            if remaining and not isinstance(remaining[-1], ReplyEnd):
                yield _close(decoder)  # an error after deltas is raised by the next call

    def _idle_limit(self, decoder: Decoder) -> float:
        """Return the time limit for the next delta."""
        if decoder.is_done:
            return self.timeouts.trailing
        return self.timeouts.idle if self.request.stream else self.timeouts.total

    async def _read_chunk(self, body: ReadAhead, deadline: Deadline, decoder: Decoder) -> bytes:
        """Return the next bytes, empty once the reply is over."""
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        try:
            async with deadline.running():
                return await body.read()
        except TimeoutError:
            if decoder.is_done:
                return b""
            raise TimedOut(
                f"{self.label} sent no new data for {deadline.limit:g} s.", fix="Try again, or choose another model."
            ) from None
        except (httpx.HTTPError, ssl.SSLError) as error:
            if decoder.is_done:
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
            async with deadline.running():
                with traffic.counting(parse_server_url(self.base_url).netloc, len(content)):
                    response = await client.send(http_request, auth=self.authorization, stream=True)
        except (TimeoutError, httpx.HTTPError, ssl.SSLError) as error:  # httpx passes on alerts of TLS 1.3
            raise self._connect_failure(error, deadline.limit) from None
        try:
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


def _decode(decoder: Decoder, chunk: bytes) -> list[Delta]:
    """Decode a chunk, and mark the errors after which the request may be retried."""
    try:
        return coalesce(decoder.feed(chunk))
    except ProviderError as error:
        raise _marked(error) from None


def _close(decoder: Decoder) -> list[Delta]:
    """End the bytes of a reply, with errors marked as in `_decode`."""
    try:
        return decoder.close()
    except ProviderError as error:
        raise _marked(error) from None


def _marked(error: ProviderError) -> Exception:
    return Retryable(error) if can_retry(error) else error
