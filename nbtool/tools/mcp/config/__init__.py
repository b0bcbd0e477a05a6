"""The configuration of servers: their addresses and commands, variables in them, and limits."""

from nbtool.tools.mcp.config.config import ServerSpec, read_config
from nbtool.tools.mcp.config.limits import DEFAULT_LIMITS, ServerLimits

__all__ = ["DEFAULT_LIMITS", "ServerLimits", "ServerSpec", "read_config"]
