"""A program with the token that sends anything: no call runs that was not approved, and others are still served."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from nbtool import Chat, tool
from nbtool.mcp_server.handlers import MAX_CLIENTS
from nbtool.mcp_server.http_server import MAX_BODY
from tests.mcp_server.clients import ListView, connect, serve, texts

Tell = Callable[[str, object], None]


@tool(run="auto")
def double(n: int) -> int:
    """Return twice a number."""
    return 2 * n


@pytest.fixture
def paid() -> list[int]:
    return []


@pytest.fixture
def served(paid: list[int]) -> Iterator[Any]:
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    with serve(lambda: Chat(tools=[double, pay]), ListView(asks=False)) as server:
        yield server


def send(server: Any, body: bytes, **headers: str) -> int:
    """Send a body with the token; return the status, 0 where the connection was closed."""
    usual = {
        "Authorization": f"Bearer {server.address.token.get_secret_value()}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        return httpx.post(server.address.url, content=body, headers={**usual, **headers}, trust_env=False).status_code
    except httpx.TransportError:
        return 0


async def use(server: Any, tool_name: str, arguments: dict[str, Any], client: str = "tester") -> Any:
    async with connect(server, client) as session:
        return await session.call_tool(tool_name, arguments)


def still_serves(server: Any) -> bool:
    return texts(asyncio.run(use(server, "double", {"n": 4})))[0] == "8"


def message(**parts: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {}}, **parts}


BODIES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "bytes": bytes(range(256)),
    "another encoding": json.dumps(message()).encode("utf-16"),
    "deep": b"[" * 100_000,
    "deep arguments": json.dumps(message())[:-2].encode() + b'{"a":' * 900 + b"1" + b"}" * 902,
    "a list": json.dumps([message()] * 50).encode(),
    "a number": b"1e400",
    "no method": json.dumps(message(method=None)).encode(),
    "an unknown method": json.dumps(message(method="tools/approve")).encode(),
    "a server's method": json.dumps(message(method="elicitation/create")).encode(),
    "no name": json.dumps(message(params={})).encode(),
    "a name that is no text": json.dumps(message(params={"name": {"pay": 1}})).encode(),
    "an answer": json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"approved": True}}).encode(),
    "a cancellation of others": json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    ).encode(),
    "an id that is an object": json.dumps(message(id={"a": 1})).encode(),
}


@pytest.mark.promise("served")
@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_no_request_is_answered_and_nothing_runs(served: Any, paid: list[int], name: str) -> None:
    assert send(served, BODIES[name]) in (0, *range(200, 600))
    assert paid == []
    assert still_serves(served)


@pytest.mark.promise("served")
def test_a_body_above_the_limit_is_refused(served: Any) -> None:
    assert send(served, b" " * (MAX_BODY + 1)) in (0, 413)
    assert still_serves(served)


@pytest.mark.promise("served")
def test_any_bytes_are_answered_and_nothing_runs(served: Any, paid: list[int], record_property: Tell) -> None:
    source = random.Random(17)
    whole = json.dumps(message(params={"name": "pay", "arguments": {"amount": 5}})).encode()
    count = 60
    for _ in range(count):
        body = bytearray(whole)
        for _ in range(source.randint(1, 6)):
            body[source.randrange(len(body))] = source.randrange(256)
        assert send(served, bytes(body)) in (0, *range(200, 600))

    assert paid == []
    assert still_serves(served)
    record_property("injected", count)


@pytest.mark.promise("served")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"amount": "5"},
        {"amount": 5, "approved": True},
        {"amount": "$VAR_REF{{_}}"},
        {"amount": "$VAR_REF{{os.environ}}"},
        {"amount": {"$VAR_REF": "x"}},
        {"__proto__": {"amount": 5}},
        {"amount": 5, "digest": "x" * 1000},
    ],
)
def test_arguments_of_any_kind_run_nothing_where_nobody_approves(
    served: Any, paid: list[int], arguments: dict[str, Any]
) -> None:
    result = asyncio.run(use(served, "pay", arguments))

    assert result.is_error
    assert paid == []


@pytest.mark.parametrize("name", ["x\x1b[31m\n\u202ey", "<b>x</b>", "x" * 5_000, " ", "mcp:x"])
def test_a_name_of_a_client_is_one_plain_line(served: Any, name: str) -> None:
    asyncio.run(use(served, "double", {"n": 1}, name))

    (shown,) = served.handlers.clients
    assert shown.isprintable()
    assert len(shown) <= 60


@pytest.mark.sampled(0)
def test_more_clients_than_the_limit_are_refused_and_the_first_ones_still_served(served: Any) -> None:
    async def use_all() -> list[Any]:
        return [await use(served, "double", {"n": 2}, f"client {number}") for number in range(MAX_CLIENTS + 2)]

    results = asyncio.run(use_all())

    assert [one.is_error for one in results] == [False] * MAX_CLIENTS + [True] * 2
    assert str(MAX_CLIENTS) in texts(results[-1])[0]
    assert not asyncio.run(use(served, "double", {"n": 2}, "client 0")).is_error


def test_a_client_that_hangs_up_during_its_calls_leaves_none_running(served: Any) -> None:
    body = json.dumps(message(params={"name": "double", "arguments": {"n": 1}})).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {served.address.token.get_secret_value()}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n\r\n"
    ).encode()
    for end in range(0, len(head + body) + 1, 40):
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall((head + body)[: end or None])

    assert still_serves(served)
    assert {client.waiting for client in served.handlers.clients.values()} == {0}
