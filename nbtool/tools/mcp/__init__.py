"""MCP servers as toolsets, over stdio and streamable HTTP."""

from nbtool.tools.mcp.config import ServerLimits
from nbtool.tools.mcp.server import McpServer, McpServers, mcp_servers

__all__ = ["McpServer", "McpServers", "ServerLimits", "mcp_servers"]
