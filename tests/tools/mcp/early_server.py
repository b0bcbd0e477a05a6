# ruff: noqa: T201 - a server speaks by print
"""A server that says that its tools changed before it has listed them; each start adds a line to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

with Path(sys.argv[1]).open("a") as starts:
    starts.write("started\n")
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {}}}
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "early", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}
listings = 0
for said in sys.stdin:
    message = json.loads(said)
    if message.get("method") == "tools/list":
        listings += 1
        for _ in range(3 if listings == 1 else 0):
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
    if "id" in message:
        result = ANSWERS.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
