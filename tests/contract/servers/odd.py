# ruff: noqa: T201 - a server speaks by print
"""A server that lists a good tool among others that are none."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS: list[Any] = [
    {"name": "good", "description": "A good one.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "no_schema", "description": "None."},
    {"name": "list_schema", "inputSchema": {"type": "array"}},
    {"inputSchema": {"type": "object"}},
    "no tool at all",
    {"name": "get.user", "inputSchema": {"type": "object"}},
    {"name": "get_user", "inputSchema": {"type": "object"}},
]


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": "good result"}, {"type": "nonsense"}, 7]}
        case _:
            return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
