"""Answers are repaired by the method of their request, whatever the form of its id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from nbtool.tools.mcp.connection.repairing_transport import MAX_OPEN, repairing

Streams = tuple[Any, Any]
ANSWER = {"tools": [{"name": "say"}, 5]}


def request(number: int | str) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/list"))


def exchange(*ids: int | str, asked: int) -> list[dict[str, Any]]:
    """Ask this many times, and return the answers to these ids as they are read."""

    async def run() -> list[dict[str, Any]]:
        to_client, incoming = anyio.create_memory_object_stream[Any](10)
        outgoing, from_client = anyio.create_memory_object_stream[Any](MAX_OPEN + 10)

        @asynccontextmanager
        async def transport() -> AsyncIterator[Streams]:
            async with to_client, from_client:
                yield incoming, outgoing

        async with repairing(transport()) as (read, write), read, write:
            await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))
            for number in range(asked):
                await write.send(request(number))
            assert read.last_context is None
            for number in ids:
                message = JSONRPCResponse(jsonrpc="2.0", id=number, result=dict(ANSWER))
                await to_client.send(SessionMessage(message))
            return [(await anext(aiter(read))).message.result for _ in ids]

    return asyncio.run(run())


def test_an_answer_is_repaired_once_and_also_if_its_id_came_back_as_text() -> None:
    first, second, again = exchange(0, "1", 0, asked=2)

    assert [tool["name"] for tool in first["tools"]] == ["say"]
    assert first == second
    assert again == ANSWER


def test_only_so_many_open_requests_are_remembered() -> None:
    oldest, newest = exchange(0, MAX_OPEN, asked=MAX_OPEN + 1)

    assert oldest == ANSWER
    assert newest != ANSWER
