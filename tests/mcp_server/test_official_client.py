"""The official client uses a served notebook, over HTTP and by the command: all that a client can do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from nbtool import Chat
from nbtool.settings import data_dir
from tests.mcp_server.clients import connect, serve, texts
from tests.mcp_server.test_other_clients import SignallingView, chart, double, hang, pay, steps


@asynccontextmanager
async def connect_by(transport: str, server: Any) -> AsyncIterator[ClientSession]:
    """Connect over HTTP with the token, or by the command, which finds it."""
    if transport == "http":
        async with connect(server) as session:
            yield session
        return
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "nbtool.mcp_server.bridge"], env={"NBTOOL_HOME": str(data_dir())}
    )
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def use_all(session: ClientSession, view: SignallingView) -> dict[str, Any]:
    """List, call, get an image and progress, be denied, reach a deadline, and give up."""
    progress: list[str | None] = []

    async def note(_: float, __: float | None, text: str | None) -> None:
        progress.append(text)

    listed, called = await session.list_tools(), await session.call_tool("double", {"n": 4})
    image, denied = await session.call_tool("chart", {}), await session.call_tool("pay", {"amount": 3})
    await session.call_tool("steps", {}, progress_callback=note)
    with pytest.raises(Exception, match=r"[Tt]imed out"):
        await session.call_tool("hang", {}, read_timeout_seconds=0.5)
    late = view.shown[-1][0]
    await asyncio.wrap_future(late.done)
    view.is_shown.clear()
    call = asyncio.create_task(session.call_tool("hang", {}))
    await asyncio.to_thread(view.is_shown.wait, 240)
    call.cancel()
    await asyncio.wait([call])
    given_up = view.shown[-1][0]
    await asyncio.wrap_future(given_up.done)
    return {
        "tools": [one.name for one in listed.tools][:3],
        "called": texts(called)[0],
        "image": [part.mime_type for part in image.content if part.type == "image"],
        "denied": (denied.is_error, "Nobody can be asked" in texts(denied)[0]),
        "progress": progress,
        "late": late.status,
        "given up": (given_up is not late, given_up.status),
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_official_client_lists_calls_gets_an_image_and_progress_is_denied_gives_up_and_reaches_its_deadline(
    transport: str,
) -> None:
    view = SignallingView(asks=False)

    async def use() -> dict[str, Any]:
        with serve(lambda: Chat(tools=[double, chart, pay, steps, hang]), view) as server:
            async with connect_by(transport, server) as session:
                return await use_all(session, view)

    assert asyncio.run(use()) == {
        "tools": ["double", "chart", "pay"],
        "called": "8",
        "image": ["image/png"],
        "denied": (True, True),
        "progress": ["half\n"],
        "late": "cancelled",
        "given up": (True, "cancelled"),
    }
