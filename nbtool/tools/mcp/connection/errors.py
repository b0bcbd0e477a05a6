"""The error that ends an MCP session."""

from __future__ import annotations

from nbtool.errors import McpFailed


class SessionLost(McpFailed):
    """The session cannot be used any more: start another one before the next request."""
