# ruff: noqa: T201 - its output is read by the test
"""Uses a served notebook with the client of fastmcp, in the environment that `make lane LANE=mcp-clients` installs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable
from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]  # in an environment of its own
from fastmcp.client.transports import StreamableHttpTransport  # type: ignore[import-not-found]  # the same


async def note(texts: list[str | None], text: str | None) -> None:
    texts.append(text)


async def fails(call: Awaitable[object]) -> str:
    """Return the error of a call; empty if it has none."""
    try:
        await call
    except Exception as error:  # noqa: BLE001 - its type is fastmcp's own affair
        return str(error)
    return ""


async def give_up(client: Any) -> None:
    """Cancel a call once it runs, which its progress says."""
    is_running = asyncio.Event()

    async def report(_: float, __: float | None, ___: str | None) -> None:
        is_running.set()

    call = asyncio.create_task(client.call_tool("hang", {}, progress_handler=report))
    await is_running.wait()
    call.cancel()
    await asyncio.wait([call])


async def use_all(client: Any) -> dict[str, Any]:
    """List, call, get an image and progress, be denied, reach a deadline, and cancel."""
    tools = await client.list_tools()
    called = await client.call_tool("double", {"n": 4}, raise_on_error=False)
    image = await client.call_tool("chart", {}, raise_on_error=False)
    denied = await client.call_tool("pay", {"amount": 3}, raise_on_error=False)
    progress: list[str | None] = []
    await client.call_tool("steps", {}, progress_handler=lambda _, __, text: note(progress, text))
    late = await fails(client.call_tool("hang", {}, timeout=0.5))
    await give_up(client)
    return {
        "tools": [tool.name for tool in tools],
        "called": called.content[0].text,
        "image": [part.type for part in image.content],
        "denied": [denied.is_error, denied.content[0].text],
        "progress": progress,
        "late": late,
    }


async def main(words: list[str]) -> None:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with Client(StreamableHttpTransport(os.environ["URL"], headers=headers)) as client:
        if words:
            result = await client.call_tool(words[0], json.loads(words[1]), raise_on_error=False)
            said: Any = [part.text for part in result.content]
        else:
            said = await use_all(client)
    print(json.dumps(said))


asyncio.run(main(sys.argv[1:]))
