"""The transport of httpx in a browser: its `fetch`, as there are no sockets, and a body read as it arrives.

The browser resolves names, encrypts, checks certificates and decompresses. It answers only for servers that allow
pages of other origins (CORS). A redirect is an error, so that no key reaches another host; cookies, a cache and the
page's address are never part of a request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

import httpx

from nbtool.wire.transport.socketless.in_process_servers import find_application

BROWSER_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "transfer-encoding", "user-agent"}
)
"""Headers that only the browser sets. It would ask the server for leave to send another `user-agent`."""

DECODED_HEADERS = frozenset({"content-encoding", "content-length"})
"""Headers of a response whose body the browser has decompressed."""


class BrowserResponse(Protocol):
    """A response whose headers have arrived."""

    status: int
    headers: list[tuple[str, str]]

    async def read(self) -> bytes:
        """Return the next bytes of the body, none at its end; any error means that the connection broke."""

    async def close(self) -> None:
        """Abort the request, if its body has not ended."""


class BrowserFetch(Protocol):
    """The browser's `fetch`."""

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> BrowserResponse:
        """Send a request without credentials, cache, referrer or redirects; any error means that it failed."""


class FetchTransport(httpx.AsyncBaseTransport):
    """Sends requests to servers in this process, or by the browser."""

    def __init__(self, fetch: BrowserFetch | None = None) -> None:
        self._fetch = fetch or _pyodide_fetch

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response, whose body is read later."""
        assert isinstance(request.stream, httpx.AsyncByteStream)  # as every transport of httpx does
        body = b"".join([part async for part in request.stream])
        headers = {name.lower(): value for name, value in request.headers.items()}
        application = find_application(request.url.host, request.url.port)
        if application is not None:
            reply = application(request.method, request.url.raw_path.decode("ascii"), headers, body)
            return httpx.Response(
                reply.status, headers={"content-type": reply.content_type}, stream=_Stream(reply.body), request=request
            )
        sent = {name: value for name, value in headers.items() if name not in BROWSER_HEADERS}
        try:
            response = await self._fetch(request.method, str(request.url), sent, body)
        except Exception as error:  # noqa: BLE001 - the browser does not say why: any error is this one
            raise httpx.ConnectError(_reason(error), request=request) from None
        received = [(name, value) for name, value in response.headers if name.lower() not in DECODED_HEADERS]
        return httpx.Response(response.status, headers=received, stream=_BrowserBody(response), request=request)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._parts:
            yield part


class _BrowserBody(httpx.AsyncByteStream):
    def __init__(self, response: BrowserResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while part := await self._response.read():
                yield part
        except Exception as error:  # noqa: BLE001 - as above
            raise httpx.ReadError(_reason(error)) from None

    async def aclose(self) -> None:
        with suppress(Exception):  # it is over in any case
            await self._response.close()


def _reason(error: Exception) -> str:
    """Return what the browser says, which is the same for a name, a refused connection and a server without CORS."""
    return f"{error}; it may be down, or allow no requests from web pages"


class _PyodideResponse:  # pragma: no cover - exists only in a browser, where a test of JupyterLite runs it
    def __init__(self, response: Any, controller: Any) -> None:
        self.status = int(response.status)
        self.headers = [(str(pair[0]), str(pair[1])) for pair in response.headers]
        self._reader = response.body.getReader() if response.body else None
        self._controller = controller

    async def read(self) -> bytes:
        chunk = await self._reader.read() if self._reader else None
        return b"" if chunk is None or chunk.done else bytes(chunk.value.to_bytes())

    async def close(self) -> None:
        self._controller.abort()


async def _pyodide_fetch(
    method: str, url: str, headers: Mapping[str, str], body: bytes
) -> BrowserResponse:  # pragma: no cover - the same
    from pyodide.ffi import to_js  # type: ignore[import-not-found]  # noqa: PLC0415 - the same

    js: Any = import_module("js")  # exists only in Pyodide

    controller = js.AbortController.new()
    options = {
        "method": method,
        "headers": dict(headers),
        "credentials": "omit",
        "cache": "no-store",
        "referrerPolicy": "no-referrer",
        "redirect": "error",
        "signal": controller.signal,
        **({"body": to_js(body)} if body else {}),
    }
    response = await js.fetch(url, to_js(options, dict_converter=js.Object.fromEntries))
    return _PyodideResponse(response, controller)
