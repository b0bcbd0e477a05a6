"""A server whose tool asks the person in the middle of its work, by `ctx.elicit`; made with the package."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel


class City(BaseModel):
    city: str
    days: int = 3


def make_server() -> MCPServer:
    """Return the server."""
    server = MCPServer("eliciting")

    @server.tool()
    async def travel(context: Context[Any, Any]) -> str:
        """Travel."""
        answer = await context.elicit("Which city?", City)
        return f"{answer.action}: {getattr(answer, 'data', None)}"

    return server


if __name__ == "__main__":
    make_server().run("stdio")
