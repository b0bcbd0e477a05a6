"""A server of fastmcp, in an environment of its own: its tools ask in each way that fastmcp has."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from fastmcp import Context, FastMCP  # type: ignore[import-not-found]  # in an environment of its own
from fastmcp.exceptions import ToolError  # type: ignore[import-not-found]  # the same

server = FastMCP("fastmcp")


@dataclass
class City:
    city: str
    days: int = 3


async def _answer(context: Any, message: str, kind: Any) -> str:
    answer = await context.elicit(message, response_type=kind)
    data = getattr(answer, "data", None)
    return f"{answer.action}: {json.dumps(asdict(data) if isinstance(data, City) else data)}"


@server.tool
async def travel(by: Literal["train", "bus"], context: Context) -> str:
    """Travel."""
    return f"{by}: {await _answer(context, 'Which city?', City)}"


@server.tool
async def ask(what: Literal["text", "number", "choice", "consent"], context: Context) -> str:
    """Ask for one value."""
    kinds: dict[str, Any] = {"text": str, "number": int, "choice": ["tea", "milk"], "consent": None}
    return await _answer(context, f"Which {what}?", kinds[what])


@server.tool
def add(a: int, b: int = 1) -> dict[str, int]:
    """Add."""
    return {"sum": a + b}


@server.tool
def fail() -> None:
    """Fail."""
    raise ToolError("no trains today")


if __name__ == "__main__":
    server.run(show_banner=False)
