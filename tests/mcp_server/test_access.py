from __future__ import annotations

import asyncio
import itertools
import logging
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import mcp_types
import pytest

from nbtool import Chat, tool
from nbtool.mcp_server.access import FOREIGN_HOST, FOREIGN_ORIGIN, NO_TOKEN
from nbtool.mcp_server.http_server import PATH
from tests.mcp_server.clients import ListView, connect, serve

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X")
ELSEWHERE = (
    f"{PATH}/",
    f"/{PATH}",
    "/",
    "/sse",
    "/messages",
    "/.well-known/oauth-protected-resource",
    "/docs",
    "/%6dcp",
)
"""Paths that are no route: those of other servers of the protocol, and other spellings of the route."""

METHODS = sorted({
    field.default
    for kind in vars(mcp_types).values()
    if isinstance(kind, type) and (field := getattr(kind, "model_fields", {}).get("method"))
    if isinstance(field.default, str)
})  # fmt: skip
"""Every method of the protocol, of all its revisions that the package has."""


def request_of(method: str) -> dict[str, Any]:
    """Return a request that would call the tool, or read the variable."""
    parameters = {"name": "effect", "arguments": {}, "uri": "nbtool://variables/x", "requestId": 1}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}


BODY = request_of("tools/call")


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """Give one client for thousands of requests."""
    with httpx.Client(trust_env=False) as client:
        yield client


@tool(run="auto")
def effect() -> str:
    """Do something."""
    return "done"


Row = tuple[dict[str, str], int, str]
"""The headers of a request that is none of a client's, and the status and text of its answer."""


def strangers(token: str, port: int) -> list[Row]:
    """Return requests of others: without the token, of another host, of a web page."""
    bearer = f"Bearer {token}"
    wrong = ({}, {"Authorization": "Bearer x"}, {"Authorization": bearer[:-1]}, {"Authorization": token},
             {"Authorization": bearer.upper()}, {"Authorization": ""}, {"Cookie": f"token={token}"},
             {"Mcp-Session-Id": "x"})  # fmt: skip
    hosts = ("rebound.example", f"rebound.example:{port}", f"127.0.0.1.rebound.example:{port}", "127.0.0.1", "",
             f"127.0.0.1:{port + 1}", f"0.0.0.0:{port}", f"[::1]:{port}", f"localhost.:{port}")  # fmt: skip
    origins = ("https://rebound.example", "null", f"http://127.0.0.1.evil.example:{port}", f"https://127.0.0.1:{port}",
               f"http://127.0.0.1:{port + 1}", f"http://rebound.example:{port}", "")  # fmt: skip
    return [
        *((headers, 401, NO_TOKEN) for headers in wrong),
        *(({"Authorization": bearer, "Host": host}, 421, FOREIGN_HOST) for host in hosts),
        *(({"Authorization": bearer, "Origin": origin}, 403, FOREIGN_ORIGIN) for origin in origins),
    ]


def one_of_each(rows: list[Row]) -> list[Row]:
    """Return one request without the token, one of a foreign host, and one of a foreign page."""
    return list({status: (headers, status, text) for headers, status, text in rows}.values())


def expected_text(verb: str, text: str) -> str:
    """An answer to HEAD has no body."""
    return "" if verb == "HEAD" else text


@pytest.mark.promise("served")
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_on_every_route_and_by_every_verb_no_request_of_a_stranger_arrives(
    client: httpx.Client, record_property: Callable[[str, object], None], *, is_whole: bool
) -> None:
    view, verbs = ListView(), VERBS if is_whole else ("GET", "POST")
    with serve(lambda: Chat(tools=[effect]), view) as server:
        rows = strangers(server.address.token.get_secret_value(), server.port)
        routes = [str(getattr(route, "path", route)) for route in server.app.routes]
        requests = [
            *itertools.product(routes, verbs, rows),
            *itertools.product(routes, VERBS, one_of_each(rows)),
            *itertools.product(ELSEWHERE, verbs, one_of_each(rows)),
        ]
        for path, verb, (headers, status, text) in requests:
            url = f"http://127.0.0.1:{server.port}{path}"
            answer = client.request(verb, url, headers=headers, json=BODY)
            assert (answer.status_code, answer.text) == (status, expected_text(verb, text)), (path, headers, verb)

        assert routes == [PATH]
        assert server.access.refused == len(requests)
        assert server.handlers.clients == {}
    assert view.shown == []
    record_property("injected", len(requests))


@pytest.mark.promise("served")
def test_no_method_of_the_protocol_is_answered_for_a_stranger(
    client: httpx.Client, record_property: Callable[[str, object], None]
) -> None:
    offered = {"ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read"}
    offered |= {"tasks/get", "tasks/result", "tasks/cancel"}
    with serve(lambda: Chat(tools=[effect])) as server:
        rows = one_of_each(strangers(server.address.token.get_secret_value(), server.port))
        for method in METHODS:
            for headers, status, text in rows:
                answer = client.post(server.address.url, headers=headers, json=request_of(method))
                assert (answer.status_code, answer.text) == (status, text), (method, headers)
        found = {method for method in METHODS if server.handlers.server.get_request_handler(method)}

        assert server.access.refused == len(rows) * len(METHODS)
        assert server.handlers.clients == {}
    assert found == offered
    record_property("injected", len(rows) * len(METHODS))


@pytest.mark.promise("served")
def test_two_headers_where_one_is_right_are_refused() -> None:
    with serve(lambda: Chat(tools=[effect])) as server:
        token = f"Bearer {server.address.token.get_secret_value()}"
        pairs = [
            [("Authorization", token), ("Authorization", token)],
            [
                ("Authorization", token),
                ("Origin", f"http://127.0.0.1:{server.port}"),
                ("Origin", "http://evil.example"),
            ],
        ]
        answers = [httpx.post(server.address.url, headers=pair, json=BODY, trust_env=False) for pair in pairs]

    assert [answer.status_code for answer in answers] == [401, 403]


@pytest.mark.promise("served")
@pytest.mark.parametrize(
    "request_text",
    ["GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "GET /\r\n\r\n", "\0" * 9],
)
def test_a_stranger_without_the_token_writes_nothing_into_the_notebook(
    request_text: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # as in a kernel: without any, Python writes warnings to stderr
    with (
        serve(lambda: Chat(tools=[effect])) as server,
        socket.create_connection(("127.0.0.1", server.port)) as stranger,
    ):
        stranger.sendall(request_text.encode())
        answer = stranger.recv(1_000)

    printed = capfd.readouterr()
    assert answer.startswith(b"HTTP/1.1 4")
    assert printed.out + printed.err == ""


def test_the_token_is_in_no_log_and_no_repr(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    async def use() -> tuple[str, str]:
        with serve(lambda: Chat(tools=[effect])) as server:
            async with connect(server) as session:
                await session.call_tool("effect", {})
            secret = server.address.token.get_secret_value()
            return secret, f"{server!r} {server.address!r} {server.address} {vars(server)} {server.handlers!r}"

    secret, reprs = asyncio.run(use())
    printed = capfd.readouterr()

    assert len(secret) >= 32
    assert secret not in reprs
    assert secret not in printed.out + printed.err
    ours = [
        record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "hpack"))
    ]
    assert not any(secret in line for line in ours)


def test_a_server_that_was_stopped_answers_nothing_and_withdraws_its_questions() -> None:
    view = ListView()
    asked = asyncio.Event()

    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    async def use() -> None:
        loop = asyncio.get_running_loop()
        is_asked = partial(loop.call_soon_threadsafe, asked.set)
        view.on_show = lambda turn, _chat: turn.add_listener(lambda event: event.kind == "call_asked" and is_asked())
        with serve(lambda: Chat(tools=[pay]), view) as server:
            async with connect(server) as session:
                call = asyncio.create_task(session.call_tool("pay", {"amount": 1}))
                await asked.wait()
                await asyncio.to_thread(server.stop)
                with pytest.raises(httpx.ConnectError):
                    httpx.get(server.address.url, trust_env=False)
                await asyncio.wrap_future(view.shown[0][0].done)
                assert (await call).is_error

    asyncio.run(use())
    turn = view.shown[0][0]

    assert (turn.status, turn.calls[0].status) == ("cancelled", "cancelled")
