"""A TLS handshake that is given up: its socket is closed at once."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from nbtool.messages import user
from nbtool.secret import Secret
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.http_transport import http_client, public_url
from nbtool.wire import Prompt, find_wire
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.web_pages.page_fetch import Fetcher
from tests.wire.process_state import close_clients


class SilentServer:
    """Accepts one connection, reads what comes, and never answers."""

    def __init__(self, listener: socket.socket) -> None:
        self.address = f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
        self.has_greeting, self.is_closed = threading.Event(), threading.Event()
        self._listener = listener
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            while connection.recv(65_536):
                self.has_greeting.set()
        self.is_closed.set()


@contextmanager
def silent_server() -> Iterator[SilentServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield SilentServer(listener)


@asynccontextmanager
async def without_garbage_collection() -> AsyncIterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        await close_clients()


async def ask_model(address: str) -> None:
    endpoint = HttpEndpoint(find_wire("chat"), address, "m", provider="lab", key=Secret("sk-0123456789abcdef"))
    async for _ in endpoint.stream(Prompt((user("Hi"),))):
        pass


async def call_server(address: str) -> None:
    spec = ServerSpec("lab", url=address)
    async with http_client(spec) as client:
        await client.post(public_url(spec), json={})


async def fetch_page(address: str) -> None:
    await Fetcher(is_allowed=lambda _: True).fetch(address)


@pytest.mark.parametrize("ask", [ask_model, call_server, fetch_page])
def test_a_request_that_is_stopped_in_its_handshake_closes_the_socket(
    ask: Callable[[str], Coroutine[Any, Any, None]],
) -> None:
    async def stop() -> bool:
        async with without_garbage_collection():
            asking = asyncio.create_task(ask(server.address))
            assert await asyncio.to_thread(server.has_greeting.wait, 240)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            return await asyncio.to_thread(server.is_closed.wait, 240)

    with silent_server() as server:
        assert asyncio.run(stop())
