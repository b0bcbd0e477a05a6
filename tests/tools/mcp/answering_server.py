# ruff: noqa: T201 - a server speaks by print
"""A server that answers what a file says, by method, or by the tool that is called; in plain JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ANSWERS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
START = {"capabilities": {"tools": {}, "prompts": {}, "resources": {}}, "serverInfo": {"name": "it", "version": "1"}}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"result": {"protocolVersion": params["protocolVersion"], **START, **ANSWERS.get("initialize", {})}}
    if method == "tools/call":
        sent = {"content": [{"type": "text", "text": json.dumps(params["arguments"])}]}
        given = ANSWERS.get("results", {}).get(params["name"], sent)
        return given if "error" in given else {"result": given}
    if method in ANSWERS:
        return {"result": ANSWERS[method]}
    return {"error": {"code": -32601, "message": f"no {method}"}}


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer(said)}), flush=True)
