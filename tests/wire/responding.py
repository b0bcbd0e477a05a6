"""What the tests of Responses share: events, streams, and how they are read."""

from __future__ import annotations

import json
from typing import Any

from nbtool.messages import Message
from nbtool.wire.base import Prompt, Target
from nbtool.wire.dialects.responses.encoder import Responses
from tests.wire.validators import check_responses

WIRE = Responses()

HERE = Target("api.example", "thinker-1")

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}

CALL_ITEM = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "price", "arguments": '{"ticker":"A"}',
    "status": "completed",
}  # fmt: skip


def body_of(*messages: Message, target: Target = HERE, **more: Any) -> dict[str, Any]:
    body = WIRE.encode(Prompt(messages, **more), target).body
    check_responses(body)
    return body


def input_of(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = body_of(*messages, **more)["input"]
    return items


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


def completed_event(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output), **more}}


def message_item(*texts: str) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text} for text in texts]}
