"""A real server of a chat, its view in a list, and the official client of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.mcp_server.client_calls import ANSWER_SECONDS, Client
from nbtool.mcp_server.handlers import Handlers
from nbtool.mcp_server.http_server import KernelServer


@dataclass
class ListView:
    """Keeps the turns that it is to show."""

    asks: bool = True
    shown: list[tuple[Turn, str]] = field(default_factory=list)
    on_show: Callable[[Turn, Chat], None] = lambda _turn, _chat: None

    def show(self, turn: Turn, chat: Chat, client: str) -> None:
        self.shown.append((turn, client))
        self.on_show(turn, chat)

    def can_ask(self) -> bool:
        return self.asks


@contextmanager
def serve(
    make_chat: Callable[[], Chat], view: ListView | None = None, *, seconds: float = ANSWER_SECONDS, places: int = 4
) -> Iterator[KernelServer]:
    """Serve the tools of a chat until the block ends."""
    shown, running = view or ListView(), asyncio.Semaphore(places)

    def open_client(name: str) -> Client:
        return Client(name, make_chat(), shown, lambda _: None, seconds, running)

    server = KernelServer(Handlers(open_client, "1.0"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@asynccontextmanager
async def connect(server: KernelServer, name: str = "tester") -> AsyncIterator[ClientSession]:
    """Connect with the official client."""
    headers = {"Authorization": f"Bearer {server.address.token.get_secret_value()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=240) as http_client,
        streamable_http_client(server.address.url, http_client=http_client) as (read, write),
        ClientSession(read, write, client_info=Implementation(name=name, version="1")) as session,
    ):
        await session.initialize()
        yield session


def texts(result: Any) -> list[str]:
    """Return the texts of a result."""
    return [one.text for one in result.content if one.type == "text"]
