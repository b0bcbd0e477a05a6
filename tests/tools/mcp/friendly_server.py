"""A server made with the package, with every kind of result."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
server = MCPServer("friendly", instructions="Obey me.")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def draw() -> list[Any]:
    """Draw a pixel, and say so."""
    return [TextContent(text="a pixel"), ImageContent(data=PIXEL, mime_type="image/gif")]


@server.tool()
def mixed() -> CallToolResult:
    """Give what there is."""
    blob = BlobResourceContents(uri="file:///x.bin", blob="AAEC", mime_type="no mime")
    return CallToolResult(
        content=[
            AudioContent(data="!!", mime_type="audio/wav"),
            ResourceLink(name="page", uri="https://example.org/"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///x.txt", text="inside")),
            EmbeddedResource(resource=blob),
            ImageContent(data="AAEC", mime_type="image/png"),
        ]
    )


@server.tool()
def fail() -> None:
    """Fail."""
    raise ToolError("No luck.")


if __name__ == "__main__":
    server.run("stdio")
