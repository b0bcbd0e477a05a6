"""A server of the newest protocol whose tool adds another one; made with the package."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("changing")


def second() -> str:
    """Return a word."""
    return "two"


@server.tool()
async def change(context: Context[Any, Any]) -> str:
    """Add a tool."""
    server.add_tool(second)
    await context.notify_tools_changed()
    return "one"


if __name__ == "__main__":
    server.run("stdio")
