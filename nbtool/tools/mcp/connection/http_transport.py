"""The HTTP transport of a session: a broken connection, an error or a large body fails only its own request.

The package's transport ends the whole session if a connection breaks. Here every failure becomes a response to its
request, and the details are recorded in the `Exchange` of the operation that waits for it.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2

from nbtool.errors import PolicyRefused, PolicyUnreadable
from nbtool.failed_handshake import close_failed_handshake
from nbtool.policy import site_policy
from nbtool.server_url import parse_server_url
from nbtool.text import shorten
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.exchange import Exchange, current_exchange
from nbtool.tools.mcp.stdio import stdio_messages
from nbtool.tools.values.sanitize import single_line

HTTP_SECONDS = 30.0
"""Seconds to connect to a server, and to send a request."""

PROBE_SECONDS = 3.0
"""Seconds to detect whether a URL serves the SSE transport."""

MAX_ERROR_BYTES = 64 * 1024
"""Maximum number of bytes read of an error body."""

MAX_MESSAGE_CHARS = 500
"""Maximum number of characters of a server's message in an error."""

MAX_EVENTS = 10_000
"""Maximum number of messages in one streamed response; a call with more fails."""

OnRefused = Callable[[str], object]
WrapTransport = Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport]

SESSION_ID = "mcp-session-id"
_NOT_SENT_ERRORS = (
    httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol,
)  # fmt: skip
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_PATH_FIX = "Check the path of its url; for streamable HTTP it often ends in /mcp."
_SSE_FIX = (
    "Use its streamable HTTP address (often the same one with /mcp), or a bridge on stdio such as "
    '{"command": "npx", "args": ["-y", "mcp-remote", "<url>"]}.'
)


def http_client(
    spec: ServerSpec, on_refused: OnRefused | None = None, wrap: WrapTransport = lambda transport: transport
) -> httpx2.AsyncClient:
    """Return the client of a session; raw bodies only, so that the received bytes are counted.

    `on_refused` receives why a message that belongs to no request was not read, and its stream was closed. `wrap` adds
    a login.
    """
    return httpx2.AsyncClient(
        headers={
            "accept-encoding": "identity",
            **{name: value.get_secret_value() for name, value in spec.headers.items()},
        },
        timeout=httpx2.Timeout(HTTP_SECONDS, read=None),  # each request has its own deadline
        transport=wrap(Transport(spec, on_refused=on_refused)),
        event_hooks={"request": [close_failed_handshake]},
    )


def public_url(spec: ServerSpec) -> str:
    """Return the URL without its query and without values of variables: other packages log it."""
    url = httpx2.URL(spec.url)
    path = spec.without_secrets(url.path).replace("${", "").replace("}", "")
    return str(url.copy_with(path=path, query=None))


class Transport(httpx2.AsyncBaseTransport):
    """Sends requests, and returns an error response if that fails."""

    def __init__(
        self,
        spec: ServerSpec,
        inner: httpx2.AsyncBaseTransport | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        self._spec = spec
        self._on_refused = on_refused
        self._public = httpx2.URL(public_url(spec))
        self._inner = inner or httpx2.AsyncHTTPTransport(proxy=_proxy_for(httpx2.URL(spec.url)))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the public URL is replaced by the real one."""
        current = current_exchange() if request.method == "POST" else Exchange()
        current.had_session = SESSION_ID in request.headers
        current.status, current.problem, current.is_rpc_error, current.is_at_end = 0, "", False, False
        url = httpx2.URL(self._spec.url) if request.url == self._public else request.url
        try:  # a login leads to other hosts than the server's own
            site_policy().check_mcp_url(str(url))
            site_policy().check_proxies(filter(None, [_proxy_for(url)]))
        except (PolicyRefused, PolicyUnreadable) as refusal:
            current.problem, current.detail = "refused", str(refusal)
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE)
        forwarded = httpx2.Request(
            request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        try:
            response = await self._inner.handle_async_request(forwarded)
        except httpx2.TransportError as error:
            current.problem = "unsent" if isinstance(error, _NOT_SENT_ERRORS) else "broken"
            current.detail = self._clean(str(error) or type(error).__name__)
            if request.method == "DELETE":  # the session of an unreachable server needs no DELETE
                return httpx2.Response(HTTPStatus.NO_CONTENT)
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE)
        return await self._record_response(response, current, is_answer=request.method == "POST")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _record_response(
        self, response: httpx2.Response, current: Exchange, *, is_answer: bool
    ) -> httpx2.Response:
        headers = response.headers
        current.status, current.content_type = response.status_code, headers.get("content-type", "").partition(";")[0]
        current.is_stream = current.content_type.strip().lower() == "text/event-stream"
        body = Body(
            response.stream,
            current,
            self._spec.limits.max_message,
            MAX_EVENTS if is_answer else None,
            None if is_answer else self._on_refused,
        )
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            current.problem = "compressed"
            await response.aclose()
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            response.stream = body
            return response
        current.challenge, current.retry_after = headers.get("www-authenticate", ""), headers.get("retry-after", "")
        data = await body.read_start(MAX_ERROR_BYTES)
        await response.aclose()
        current.detail, current.is_rpc_error = _error_message(data)
        current.detail = self._clean(current.detail)
        shown_headers = {
            name: headers[name] for name in ("content-type", "location", "www-authenticate") if name in headers
        }
        return httpx2.Response(response.status_code, headers=shown_headers, content=data)

    def _clean(self, text: str) -> str:
        return shorten(self._spec.without_secrets(single_line(text)), MAX_MESSAGE_CHARS)


def _proxy_for(url: httpx2.URL) -> str | None:
    """Return the proxy that the environment sets for a URL; a server on this machine is reached without one.

    Over plain HTTP the proxy would see the headers, which may contain keys.
    """
    if parse_server_url(str(url), may_have_query=True).is_loopback:
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return None if proxy is None or proxy_bypass(url.host) else proxy


class Body(httpx2.AsyncByteStream):
    """A bounded body: the whole of a single message, or each event of a stream."""

    def __init__(
        self,
        stream: Any,
        current: Exchange,
        max_message: int,
        max_events: int | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        self._stream = stream
        self._on_refused = on_refused
        self._exchange = current
        self._max_message = max_message
        self._is_stream = current.is_stream
        self._events_left = math.inf if max_events is None else max_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, tail, complexity = 0, b"", stdio_messages.Complexity()
        try:
            async for data in self._stream:
                size += len(data)
                if self._is_stream:
                    size_seen = tail + data
                    if (end := max(map(size_seen.rfind, (b"\n\n", b"\r\n\r\n", b"\r\r")))) >= 0:
                        size = len(size_seen) - end
                    tail = size_seen[-3:]
                if size > self._max_message:
                    self._exchange.problem = "too_large"
                    raise self._refusal(f"of more than {self._max_message} bytes")
                if self._are_too_many(data):
                    self._exchange.problem = "too_many"
                    raise httpx2.StreamError("The stream has too many messages.")
                if self._is_complex(data, complexity):
                    self._exchange.problem = "too_complex"
                    raise self._refusal(
                        f"of more than {stdio_messages.MAX_TOKENS} values or {stdio_messages.MAX_NESTING} levels"
                    )
                yield data
            self._exchange.is_at_end = True
        except httpx2.TransportError as error:
            self._exchange.problem = "broken"
            raise httpx2.StreamError(type(error).__name__) from error

    def _refusal(self, size: str) -> httpx2.StreamError:
        """Report that a message is too large, and return the error that ends the body."""
        if self._on_refused:
            self._on_refused(size)
        return httpx2.StreamError(f"A message {size} is not read.")

    def _are_too_many(self, data: bytes) -> bool:
        """Count the events of a stream."""
        if self._is_stream:
            self._events_left -= len(_EVENT_END.findall(data))
        return self._events_left < 0

    def _is_complex(self, data: bytes, complexity: stdio_messages.Complexity) -> bool:
        """Count the values of the body, or of each event of a stream."""
        for number, event in enumerate(_EVENT_END.split(data) if self._is_stream else (data,)):
            if number:
                complexity.reset()
            if complexity.exceeds_limits(event):
                return True
        return False

    async def aclose(self) -> None:
        """Close the underlying body."""
        await self._stream.aclose()

    async def read_start(self, max_bytes: int) -> bytes:
        """Read at most this many bytes; of a body that breaks off, the received part."""
        data = b""
        try:
            async for chunk in self:
                data += chunk
                if len(data) >= max_bytes:
                    break
        except httpx2.StreamError:
            self._exchange.problem = ""
        return data[:max_bytes]


def describe_status(spec: ServerSpec, current: Exchange) -> tuple[str, str]:
    """Return what an HTTP error response means, and the fix."""
    status = current.status
    try:
        phrase = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    message = f": {current.detail}" if current.detail else ""
    return f"answered {phrase}{message}.".replace("..", "."), _status_fix(spec, current)


def _status_fix(spec: ServerSpec, current: Exchange) -> str:
    match current.status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return _key_fix(spec, current)
        case HTTPStatus.FORBIDDEN:
            return "The key lacks permission, or none was sent: check the permissions of the key. " + _key_fix(
                spec, current
            )
        case HTTPStatus.TOO_MANY_REQUESTS:
            wait = shorten(single_line(current.retry_after), 40)
            return f"Wait before the next call{f' (Retry-After: {wait} s)' if wait else ''}."
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "Try again later; see the server's log."
        case _:
            return _PATH_FIX


def _key_fix(spec: ServerSpec, current: Exchange) -> str:
    """Return the header or the environment variable that the key comes from."""
    oauth = (
        ' It offers OAuth: "auth": "oauth" in its configuration lets you log in.'
        if "resource_metadata" in (current.challenge) and not spec.uses_oauth
        else ""
    )
    name = next((name for name in spec.headers if name.lower() == "authorization"), next(iter(spec.headers), ""))
    if variables := spec.header_variables.get(name):
        return f"It rejected the header {name}: check the environment variable {' and '.join(variables)}.{oauth}"
    if name:
        return f'It rejected the header {name}: check its value in "headers" of the configuration.{oauth}'
    example = '"headers": {"Authorization": "Bearer ${MCP_TOKEN}"}'
    return f"Add {example} to its configuration and set the environment variable MCP_TOKEN.{oauth}"


async def uses_sse(spec: ServerSpec, current: Exchange) -> bool:
    """Return whether a URL that rejected a session serves the SSE transport, as described in the specification.

    https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#backwards-compatibility
    """
    if current.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        return False
    with suppress(httpx2.HTTPError, httpx2.StreamError, TimeoutError):
        async with asyncio.timeout(PROBE_SECONDS), http_client(spec) as client:
            request = client.stream("GET", public_url(spec), headers={"accept": "text/event-stream"})
            async with request as response:
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    start = await anext(response.aiter_raw(), b"")
                    return start.lstrip().startswith((b"event: endpoint", b"event:endpoint"))
    return False


def sse_hint() -> tuple[str, str]:
    """Return the error message and the fix for a URL with the SSE transport."""
    return "uses the old HTTP+SSE transport at this address, which MCP replaced by streamable HTTP.", _SSE_FIX


def _error_message(data: bytes) -> tuple[str, bool]:
    """Return a server's message in an error body, and whether it is a JSON-RPC error."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return "", False
    is_rpc_error = isinstance(payload, dict) and isinstance(payload.get("error"), dict) and "code" in payload["error"]
    details = payload["error"].get("data") if is_rpc_error else None
    while isinstance(payload, dict):
        keys = ("error_description", "message", "detail", "error")
        payload = next((payload[key] for key in keys if payload.get(key)), "")
    message = payload if isinstance(payload, str) else ""
    return f"{message} ({json.dumps(details, ensure_ascii=False)})" if details else message, is_rpc_error
