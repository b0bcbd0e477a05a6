"""A server of the Python SDK: `ctx.elicit` in the middle of a tool, and a resolver whose question precedes it."""

from __future__ import annotations

import json
from typing import Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("python")


class City(BaseModel):
    city: str = Field(min_length=2)
    days: int = Field(default=3, ge=1, le=9)


@server.tool()
async def travel(by: Literal["train", "bus"], context: Context[Any, Any]) -> str:
    """Travel."""
    answer = await context.elicit("Which city?", City)
    return f"{by}: {json.dumps(answer.data.model_dump()) if answer.action == 'accept' else answer.action}"


@server.tool()
def add(a: int, b: float = 1) -> dict[str, float]:
    """Add."""
    return {"sum": a + b}


@server.tool()
def fail() -> None:
    """Fail."""
    raise ValueError("no trains today")


if __name__ == "__main__":
    server.run("stdio")
