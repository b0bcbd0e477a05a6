from __future__ import annotations

import asyncio
import logging
import socket

import httpx
import pytest

from nbtool import Chat, tool
from nbtool.mcp_server.access import FOREIGN_HOST, FOREIGN_ORIGIN, NO_TOKEN
from tests.mcp_server.clients import ListView, connect, serve

BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "effect", "arguments": {}}}


@tool(run="auto")
def effect() -> str:
    """Do something."""
    return "done"


@pytest.mark.promise("served")
def test_without_the_token_from_a_web_page_or_under_another_host_no_request_arrives() -> None:
    view = ListView()
    with serve(lambda: Chat(tools=[effect]), view) as server:
        url, token = server.address.url, f"Bearer {server.address.token.get_secret_value()}"
        port = server.port
        rows = [
            ({}, 401, NO_TOKEN),
            ({"Authorization": "Bearer x"}, 401, NO_TOKEN),
            ({"Authorization": token[:-1]}, 401, NO_TOKEN),
            ({"Authorization": token.removeprefix("Bearer ")}, 401, NO_TOKEN),
            ({"Authorization": token.upper()}, 401, NO_TOKEN),
            ({"Authorization": token, "Host": "rebound.example"}, 421, FOREIGN_HOST),
            ({"Authorization": token, "Host": f"rebound.example:{port}"}, 421, FOREIGN_HOST),
            ({"Authorization": token, "Host": f"127.0.0.1.rebound.example:{port}"}, 421, FOREIGN_HOST),
            ({"Authorization": token, "Host": "127.0.0.1"}, 421, FOREIGN_HOST),
            ({"Authorization": token, "Origin": "https://rebound.example"}, 403, FOREIGN_ORIGIN),
            ({"Authorization": token, "Origin": "null"}, 403, FOREIGN_ORIGIN),
            ({"Authorization": token, "Origin": f"http://127.0.0.1.evil.example:{port}"}, 403, FOREIGN_ORIGIN),
            ({"Authorization": token, "Origin": f"https://127.0.0.1:{port}"}, 403, FOREIGN_ORIGIN),
            ({"Authorization": token, "Origin": f"http://127.0.0.1:{port + 1}"}, 403, FOREIGN_ORIGIN),
        ]
        for path in ("/mcp", "/", "/.well-known/oauth-protected-resource", "/docs"):
            for headers, status, words in rows:
                for method in ("POST", "GET", "OPTIONS", "DELETE"):
                    answer = httpx.request(
                        method, url.replace("/mcp", path), headers=headers, json=BODY, trust_env=False
                    )
                    assert (answer.status_code, answer.text) == (status, words), (path, headers, method)

        assert server.access.refused == 4 * len(rows) * 4
        assert server.handlers.clients == {}
    assert view.shown == []


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
    shown = asyncio.Event()

    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    async def use() -> None:
        loop = asyncio.get_running_loop()
        view.on_show = lambda _turn, _chat: loop.call_soon_threadsafe(shown.set)  # type: ignore[assignment,return-value]  # a test's callback
        with serve(lambda: Chat(tools=[pay]), view) as server:
            async with connect(server) as session:
                call = asyncio.create_task(session.call_tool("pay", {"amount": 1}))
                await shown.wait()
                await asyncio.to_thread(server.stop)
                with pytest.raises(httpx.ConnectError):
                    httpx.get(server.address.url, trust_env=False)
                await asyncio.wrap_future(view.shown[0][0].done)
                call.cancel()

    asyncio.run(use())
    turn = view.shown[0][0]

    assert (turn.status, turn.calls[0].status) == ("cancelled", "cancelled")
