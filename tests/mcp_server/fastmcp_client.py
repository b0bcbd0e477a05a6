# ruff: noqa: T201 - its output is read by the test
"""Uses a served notebook with the client of fastmcp, in the environment that `make mcp-clients` installs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable

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


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with Client(StreamableHttpTransport(os.environ["URL"], headers=headers)) as client:
        tools = await client.list_tools()
        called = await client.call_tool("double", {"n": 4}, raise_on_error=False)
        image = await client.call_tool("chart", {}, raise_on_error=False)
        denied = await client.call_tool("pay", {"amount": 3}, raise_on_error=False)
        progress: list[str | None] = []
        await client.call_tool("steps", {}, progress_handler=lambda _, __, text: note(progress, text))
        late = await fails(client.call_tool("hang", {}, timeout=0.5))
        given_up = asyncio.create_task(client.call_tool("hang", {}))
        await asyncio.sleep(0.5)
        given_up.cancel()
        await asyncio.wait([given_up])
    print(json.dumps({
        "tools": [tool.name for tool in tools],
        "called": called.content[0].text,
        "image": [part.type for part in image.content],
        "denied": [denied.is_error, denied.content[0].text],
        "progress": progress,
        "late": late,
    }))  # fmt: skip


asyncio.run(main())
