# ruff: noqa: T201 - a server speaks by print
"""A server of an older protocol whose tool ends it, or changes the list of its tools; in plain JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

WORDS = sys.argv[1:]
COUNT = int(WORDS[1]) if len(WORDS) > 1 else 2
PAGES = int(WORDS[2]) if len(WORDS) > 2 else 1
DESCRIPTION = "Say it."


def call(what: str) -> str:
    global DESCRIPTION
    if what == "die":
        os._exit(3)
    if what == "change":
        DESCRIPTION = "Say more."
        for _ in range(20):
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
    return what


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            capabilities = {"tools": {"listChanged": True}, **({"prompts": {}} if "prompts" in WORDS else {})}
            about = {"name": "listing", "version": "1"}
            version = message["params"]["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}}
        case "tools/list":
            schema = {"type": "object", "properties": {"what": {"type": "string"}}}
            return {"result": {"tools": [{"name": "say", "description": DESCRIPTION, "inputSchema": schema}]}}
        case "prompts/list":
            page = int((message.get("params") or {}).get("cursor") or 0)
            more = {"nextCursor": str(page + 1)} if page + 1 < PAGES else {}
            first = page * COUNT
            return {"result": {"prompts": [{"name": f"prompt{first + number}"} for number in range(COUNT)], **more}}
        case "prompts/get":
            texts = [("user", "Hello."), ("assistant", "Hi\x1b[31m.")]
            messages = [{"role": role, "content": {"type": "text", "text": text}} for role, text in texts]
            return {"result": {"messages": messages}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": call(message["params"]["arguments"]["what"])}]}}
        case method:
            return {"error": {"code": -32601, "message": f"no {method}"}}


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer(said)}), flush=True)
