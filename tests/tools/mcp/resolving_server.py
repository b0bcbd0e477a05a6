"""A server of the newest protocol, whose result says what input its tool needs; made with the package."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel


class Seat(BaseModel):
    name: str
    seats: int = 1


async def ask_for_seat() -> Elicit[Seat]:
    return Elicit("Which seat?", Seat)


def make_server() -> MCPServer:
    """Return the server."""
    server = MCPServer("asking")

    @server.tool()
    def book(seat: Annotated[Seat, Resolve(ask_for_seat)]) -> str:
        """Book a seat."""
        return f"{seat.seats} for {seat.name}"

    return server


if __name__ == "__main__":
    make_server().run("stdio")
