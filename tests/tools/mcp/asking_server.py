# ruff: noqa: T201 - a server speaks by print
"""A server that asks for input during a call by a request of its own, as all did until 2025; in plain JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Who sits there."},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "row": {"type": "string", "enum": ["front", "back"], "default": "back"},
        "window": {"type": "boolean"},
    },
    "required": ["name", "seats"],
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "form": {"message": "Which seat?", "requestedSchema": FORM},
    "page": {"mode": "url", "message": "Log in.", "url": "https://pay.example/x?token=1", "elicitationId": "e1"},
    "nested": {
        "message": "All of it.",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
    },
    "secret": {
        "message": "Log in.",
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]},
    },
}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            about = {"name": "asking", "version": "1"}
            version = message["params"]["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
        case "tools/list":
            schema = {"type": "object", "properties": {"what": {"type": "string"}}}
            return {"result": {"tools": [{"name": "book", "description": "Book.", "inputSchema": schema}]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": ask(message["params"]["arguments"]["what"])}]}}
        case method:
            return {"error": {"code": -32601, "message": f"no {method}"}}


def ask(what: str) -> str:
    """Ask the client, and return its answer as text."""
    question = {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": QUESTIONS[what]}
    print(json.dumps(question), flush=True)
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("id") == "q1":
            return json.dumps(said.get("result") or said.get("error"), sort_keys=True)
        if said.get("method") == "notifications/cancelled":
            return "cancelled"
    return "ended"


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer(said)}), flush=True)
