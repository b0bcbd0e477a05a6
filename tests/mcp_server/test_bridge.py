from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from nbtool import Chat, tool
from nbtool.settings import data_dir
from tests.mcp_server.clients import serve, texts


@tool(run="auto")
def double(n: int) -> int:
    """Return twice a number."""
    return 2 * n


def test_a_client_that_starts_a_process_uses_the_notebook_without_a_token_in_its_configuration() -> None:
    async def use() -> tuple[list[str], Any]:
        with serve(lambda: Chat(tools=[double])):
            parameters = StdioServerParameters(
                command=sys.executable, args=["-m", "nbtool.mcp_server.bridge"], env={"NBTOOL_HOME": str(data_dir())}
            )
            async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                tools = await session.list_tools()
                return [one.name for one in tools.tools], await session.call_tool("double", {"n": 21})

    names, result = asyncio.run(use())

    assert "double" in names
    assert texts(result)[0] == "42"
