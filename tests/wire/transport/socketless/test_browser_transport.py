from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping

import httpx
import pytest

from nbtool.errors import BadUsage, ConnectionFailed, SettingsError
from nbtool.messages import user
from nbtool.secret import Secret
from nbtool.wire import Prompt, find_wire
from nbtool.wire.providers.connection import Connection
from nbtool.wire.reply import ReplyBuilder
from nbtool.wire.transport.client_pool import client_for
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy
from nbtool.wire.transport.socketless.browser_transport import FetchTransport
from nbtool.wire.transport.socketless.in_process_servers import InProcessReply, mount, unmount
from nbtool.wire.transport.web_pages.page_fetch import Fetcher
from tests.one_thread import one_thread

KEY = "sk-secret-canary-0123456789"
EVENTS = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n',
    b'data: {"choices": [{"index": 0, "delta": {"content": "lo"}}]}\n\n',
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
)


class Response:
    """What a browser returns: the body in parts, decompressed already."""

    status = 200

    def __init__(self, *parts: bytes | Exception) -> None:
        self.headers = [("Content-Type", "text/event-stream"), ("content-encoding", "gzip"), ("content-length", "7")]
        self._parts = iter(parts)
        self.is_closed = False

    async def read(self) -> bytes:
        part = next(self._parts, b"")
        if isinstance(part, Exception):
            raise part
        return part

    async def close(self) -> None:
        self.is_closed = True
        raise RuntimeError("aborted")  # as an abort may end


class Browser:
    """The `fetch` of a browser."""

    def __init__(self, answer: Response | Exception) -> None:
        self._answer = answer
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        self.requests.append((method, url, dict(headers), body))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def send(browser: Browser, url: str = "https://models.example/v1") -> tuple[httpx.Response, bytes]:
    async def run() -> tuple[httpx.Response, bytes]:
        async with httpx.AsyncClient(transport=FetchTransport(browser), trust_env=False) as client:
            headers = {"authorization": f"Bearer {KEY}", "user-agent": "nbtool"}
            async with client.stream("POST", url, content=b"{}", headers=headers) as response:
                return response, b"".join([part async for part in response.aiter_raw()])

    return asyncio.run(run())


def test_a_body_arrives_in_parts_and_what_only_the_browser_sets_is_not_sent() -> None:
    browser, answer = Browser(reply := Response(*EVENTS)), reply
    response, body = send(browser)

    assert body == b"".join(EVENTS)
    assert dict(response.headers) == {"content-type": "text/event-stream"}
    assert browser.requests == [
        ("POST", "https://models.example/v1", {"accept": "*/*", "authorization": f"Bearer {KEY}"}, b"{}")
    ]
    assert answer.is_closed


def test_a_request_that_fails_and_a_body_that_breaks_are_errors_of_the_connection() -> None:
    with pytest.raises(httpx.ConnectError, match="allow no requests from web pages"):
        send(Browser(TypeError("Failed to fetch")))
    with pytest.raises(httpx.ReadError, match="network error"):
        send(Browser(Response(b"a", TypeError("network error"))))


@pytest.fixture
def no_sockets() -> Iterator[None]:
    with one_thread():
        yield


async def stream_in_parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def endpoint(url: str, connection: Connection | None = None) -> HttpEndpoint:
    return HttpEndpoint(
        find_wire("chat"),
        url,
        "m",
        key=Secret(KEY),
        connection=connection or Connection(),
        retries=RetryPolicy(attempts=1),
    )


async def reply_of(model: HttpEndpoint) -> str:
    builder = ReplyBuilder(wire="chat")
    async for delta in model.stream(Prompt((user("Hi"),))):
        builder.add(delta)
    return builder.reply().message.text


@pytest.mark.usefixtures("no_sockets")
def test_a_server_in_this_process_gets_the_key_of_its_own_address_only() -> None:
    seen: list[tuple[str, str, str]] = []

    def application(method: str, path: str, headers: Mapping[str, str], _: bytes) -> InProcessReply:
        seen.append((method, path, headers["authorization"]))
        return InProcessReply(200, "text/event-stream", stream_in_parts(*EVENTS))

    mount("127.0.0.1", 1, application)
    try:
        assert asyncio.run(reply_of(endpoint("http://127.0.0.1:1/v1"))) == "Hello"
    finally:
        unmount("127.0.0.1", 1)
    assert seen == [("POST", "/v1/chat/completions", f"Bearer {KEY}")]


@pytest.mark.usefixtures("no_sockets")
def test_where_the_browser_reaches_no_server_the_error_names_it_and_not_the_key() -> None:
    with pytest.raises(ConnectionFailed, match=r"models\.example cannot be reached") as caught:
        asyncio.run(reply_of(endpoint("https://models.example/v1")))  # there is no browser here
    assert KEY not in repr(caught.value)


@pytest.mark.usefixtures("no_sockets")
def test_no_page_is_fetched_where_its_address_cannot_be_checked() -> None:
    with pytest.raises(BadUsage, match="cannot be fetched in a browser"):
        asyncio.run(Fetcher().fetch("https://pages.example/"))


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    "connection",
    [Connection(proxy=Secret("http://127.0.0.1:2")), Connection(verify="certifi")],
)
def test_a_proxy_and_certificates_of_our_own_are_refused_in_a_browser(connection: Connection) -> None:
    async def client() -> None:
        client_for("https://models.example/v1", connection)

    with pytest.raises(SettingsError, match="its own proxy and certificates"):
        asyncio.run(client())
