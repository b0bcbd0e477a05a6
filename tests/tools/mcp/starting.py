"""Start servers of the Model Context Protocol for a test, and end them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbtool.tools.mcp import McpServers, mcp_servers
from nbtool.tools.mcp.config import DEFAULT_LIMITS, ServerLimits

Start = Callable[..., McpServers]


@contextmanager
def server_starter() -> Iterator[Start]:
    """Give a function that starts servers, named by keywords; they end with the context."""
    started: list[McpServers] = []

    def begin(
        *,
        connect_seconds: float = 20,
        call_seconds: float = 20,
        limits: ServerLimits = DEFAULT_LIMITS,
        **servers: Any,
    ) -> McpServers:
        config = {"mcpServers": servers}
        started.append(mcp_servers(config, connect_seconds=connect_seconds, call_seconds=call_seconds, limits=limits))
        return started[-1]

    yield begin
    for servers in started:
        servers.close()
