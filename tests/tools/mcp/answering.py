"""Start servers that answer what a test says; see `answering_server.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbtool.tools.mcp import McpServers, mcp_servers

SERVER = Path(__file__).with_name("answering_server.py")
OPEN: dict[str, Any] = {"type": "object"}
Serve = Callable[..., McpServers]


def tool(name: str, schema: Any = OPEN, **fields: Any) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    return {"name": name, "inputSchema": schema, **fields}


@contextmanager
def start_servers(folder: Path) -> Iterator[Serve]:
    """Give a function that starts a server with these tools and results, and answers to other requests.

    The methods are keyword arguments, with `__` in place of their slash.
    """
    started: list[McpServers] = []

    def start(*tools: Any, results: dict[str, Any] | None = None, **answers: Any) -> McpServers:
        file = folder / f"answers{len(started)}.json"
        listed = {"tools/list": {"tools": tools}} | {name.replace("__", "/"): one for name, one in answers.items()}
        file.write_text(json.dumps({"results": results or {}, **listed}), encoding="utf-8")
        command = {"command": sys.executable, "args": [str(SERVER), str(file)]}
        started.append(mcp_servers({"mcpServers": {"it": command}}))
        return started[-1]

    yield start
    for servers in started:
        servers.close()
