"""What the tests of Chat Completions share: chunks, streams, and how they are read."""

from __future__ import annotations

import json
from typing import Any

from nbtool.messages import Message
from nbtool.wire import Prompt, Reply, Target, decode, find_wire

WIRE = find_wire("chat")

HERE = Target("host.example", "m")


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(value)}\n\n" for value in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def read(*chunks: dict[str, Any], done: bool = True) -> Reply:
    return decode("chat", stream(*chunks, done=done))


def whole(message: dict[str, Any], finish: Any = "stop", **more: Any) -> Reply:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    return decode("chat", json.dumps(body).encode(), stream=False)


def call(index: Any = 0, call_id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    fragment: dict[str, Any] = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    if index is None:
        del fragment["index"]
    return {"tool_calls": [fragment]}


def calls(reply: Reply) -> list[tuple[str, str]]:
    return [(made.name, made.arguments) for made in reply.calls]


def native(reply: Reply) -> dict[str, Any]:
    assert reply.message.native
    payload: dict[str, Any] = reply.message.native.payload
    return payload


def body(*messages: Message, target: Target = HERE, **prompt: Any) -> dict[str, Any]:
    return WIRE.encode(Prompt(messages, **prompt), target).body
