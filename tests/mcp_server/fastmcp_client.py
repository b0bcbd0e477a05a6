# ruff: noqa: T201 - its output is read by the test
"""Uses a served notebook with the client of fastmcp, in the environment that `make mcp-clients` installs."""

from __future__ import annotations

import asyncio
import json
import os

from fastmcp import Client  # type: ignore[import-not-found]  # in an environment of its own
from fastmcp.client.transports import StreamableHttpTransport  # type: ignore[import-not-found]  # the same


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with Client(StreamableHttpTransport(os.environ["URL"], headers=headers)) as client:
        tools = await client.list_tools()
        called = await client.call_tool("double", {"n": 4}, raise_on_error=False)
        image = await client.call_tool("chart", {}, raise_on_error=False)
        denied = await client.call_tool("pay", {"amount": 3}, raise_on_error=False)
    print(json.dumps({
        "tools": [tool.name for tool in tools],
        "called": called.content[0].text,
        "image": [part.type for part in image.content],
        "denied": [denied.is_error, denied.content[0].text],
    }))  # fmt: skip


asyncio.run(main())
