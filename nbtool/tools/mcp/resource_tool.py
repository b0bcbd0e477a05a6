"""The tool with which a model reads a resource that a server's results link to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from nbtool.tools.mcp.catalog.resources import RemoteResource
from nbtool.tools.mcp.catalog.tool_names import model_tool_name, qualified_tool_name
from nbtool.tools.tool import Tool, as_tools

NAME = "read_resource"
"""The tool's name, after the server's."""


def make_resource_tool(server: str, identity: str, read: Callable[[RemoteResource | str], Awaitable[Any]]) -> Tool:
    """Return the tool of a server; `read` sends the request, and `identity` tells servers of one name apart."""

    async def read_resource(resource: RemoteResource | str) -> Any:
        """Read a resource of this server.

        Args:
            resource: a link from a result, by reference, or an address.
        """
        return await read(resource)

    return replace(
        as_tools(read_resource)[0],
        name=model_tool_name(server, NAME),
        qualified_name=qualified_tool_name(server, NAME),
        identity=f"{identity}.{NAME}",
        origin=f"mcp.{server}.{NAME}",
        sends_to="server",
    )
