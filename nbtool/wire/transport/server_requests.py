"""Requests to a model's server beside those for replies: its files, its batches; with the key of the endpoint.

What only reads or deletes is sent again after a failure that may pass, as the endpoint's retries say. What creates
something is never sent twice: if the server may have taken it, that is `Undecided`, and the sender has to look for it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from nbtool.errors import InvalidReply, TimedOut, WireError
from nbtool.wire.framing.json_payloads import parse
from nbtool.wire.framing.redaction import redact_error
from nbtool.wire.transport import traffic
from nbtool.wire.transport.client_pool import client_for
from nbtool.wire.transport.errors.connection_errors import connect_error, disconnect_error
from nbtool.wire.transport.errors.error_body import read_error
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.response.decompression import read_body

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

Body = AsyncGenerator[bytes, None]

ANSWER_SECONDS = 600.0
"""Time limit for one request, which may upload or download a file."""

MAX_ANSWER = 64 * 1024 * 1024
"""Maximum size in bytes of an answer that is one JSON value."""

MAX_FILE = 1024 * 1024 * 1024
"""Maximum size in bytes of a file that is downloaded."""

REQUEST_TIMEOUT = 408
"""The status by which a server says that it has not got the whole request."""


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request: a method, a path relative to the base URL, and what is sent."""

    method: str
    path: str
    content: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


class Undecided(Exception):
    """A request that creates something failed so that the server may have taken it, or not; `error` says how."""

    def __init__(self, error: WireError) -> None:
        super().__init__(str(error))
        self.error = error


class _Failed(Exception):
    """An exchange that failed: whether the server may have taken the request, and whether it may succeed later."""

    def __init__(self, error: WireError, *, may_retry: bool, is_taken: bool = True) -> None:
        super().__init__(str(error))
        self.error, self.may_retry, self.is_taken = error, may_retry, is_taken


async def fetch_json(endpoint: HttpEndpoint, request: ServerRequest, *, creates: bool = False) -> dict[str, Any]:
    """Send a request and return the JSON object of the answer, an empty one for no answer.

    Raises:
        Undecided: the request creates something, and the server may have taken it.
        nbtool.errors.WireError: it was refused, or the server cannot be reached.
    """

    async def read(body: Body) -> dict[str, Any]:
        content = b"".join([chunk async for chunk in body])
        return await asyncio.to_thread(_parse_object, content, endpoint.label)

    return await _exchange(endpoint, request, read, MAX_ANSWER, creates=creates)


async def download(
    endpoint: HttpEndpoint, request: ServerRequest, file: BinaryIO, *, max_bytes: int = MAX_FILE
) -> None:
    """Write the body of an answer to a file, from its start.

    Raises:
        nbtool.errors.WireError: it was refused, broke off, or is larger than `max_bytes`.
    """

    async def read(body: Body) -> None:
        file.seek(0)
        file.truncate()
        async for chunk in body:
            file.write(chunk)

    await _exchange(endpoint, request, read, max_bytes)


def _parse_object(content: bytes, label: str) -> dict[str, Any]:
    if not content.strip():
        return {}
    try:
        value = parse(content)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise InvalidReply(f"{label} did not answer with a JSON object.", fix="Check the address.")


async def _exchange(
    endpoint: HttpEndpoint,
    request: ServerRequest,
    read: Callable[[Body], Awaitable[T]],
    max_bytes: int,
    *,
    creates: bool = False,
) -> T:
    attempt = 0
    while True:
        attempt += 1
        try:
            return await _attempt(endpoint, request, read, max_bytes)
        except _Failed as failed:
            failure, may_retry, is_taken = failed.error, failed.may_retry, failed.is_taken
        # outside of `except`: the first error may contain what the server repeated
        failure = redact_error(failure.with_source(endpoint.label), endpoint.secrets)
        if creates and is_taken:
            raise Undecided(failure)
        delay = endpoint.retries.delay_after(failure, attempt) if may_retry else None
        if delay is None:
            raise failure
        await endpoint.retries.wait(delay)


async def _attempt(
    endpoint: HttpEndpoint, request: ServerRequest, read: Callable[[Body], Awaitable[T]], max_bytes: int
) -> T:
    """Send a request once and read its answer. Raises `_Failed` for whatever goes wrong with the server."""
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    try:
        async with asyncio.timeout(ANSWER_SECONDS), _opened(endpoint, request, max_bytes) as body:
            return await read(body)
    except TimeoutError:
        error = TimedOut(f"{endpoint.label} did not answer within {ANSWER_SECONDS:g} s.", fix="Try again.")
        raise _Failed(error, may_retry=True) from None
    except (httpx.HTTPError, ssl.SSLError) as error:
        raise _Failed(disconnect_error(error, endpoint.label), may_retry=True) from None
    except WireError as error:  # the answer is too large, or no JSON
        raise _Failed(error, may_retry=isinstance(error, InvalidReply)) from None


@asynccontextmanager
async def _opened(endpoint: HttpEndpoint, request: ServerRequest, max_bytes: int) -> AsyncIterator[Body]:
    """Yield the body of a successful answer."""
    response = await _send(endpoint, request)
    if response.status_code == 401 and endpoint.key_source:  # the key of a command or function has ended early
        await response.aclose()
        endpoint.key_source.discard(endpoint.key_source.current)
        response = await _send(endpoint, request)
    async with aclosing(response):
        if response.status_code >= 300:
            error, may_retry = await read_error(response, endpoint.label)
            is_refused = response.status_code < 500 and response.status_code != REQUEST_TIMEOUT
            raise _Failed(error, may_retry=may_retry, is_taken=not is_refused)
        async with aclosing(read_body(response, max_bytes, endpoint.label)) as body:
            yield body


async def _send(endpoint: HttpEndpoint, request: ServerRequest) -> httpx.Response:
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    url = f"{endpoint.base_url.rstrip('/')}{request.path}"
    client = client_for(url, endpoint.connection)
    authorization = endpoint.authorization(await endpoint.current_key())
    http_request = client.build_request(
        request.method, url, content=request.content or None, headers=request.headers, params=request.query or None
    )
    try:
        with traffic.counting(endpoint.host, len(request.content)):
            return await client.send(http_request, auth=authorization, stream=True)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        proxy = endpoint.connection.proxy
        failure, may_retry = connect_error(error, endpoint.label, url, proxy=proxy.get_secret_value() if proxy else "")
        raise _Failed(failure, may_retry=may_retry, is_taken=False) from None
