"""What the tests of Gemini share: partial replies, streams, and how they are read."""

from __future__ import annotations

import json
from typing import Any

from nbtool.messages import Message
from nbtool.wire.base import Prompt, Target
from nbtool.wire.dialects.gemini.encoder import GenerateContent
from tests.wire.validators import check_gemini

WIRE = GenerateContent()

HERE = Target("api.example", "gemini-3.5-flash")

OLDER = Target("api.example", "gemini-2.0-flash")

SIGNATURE = "c2VhbGVk"

CALL = {"functionCall": {"name": "price", "args": {"ticker": "A"}, "id": "g1"}, "thoughtSignature": SIGNATURE}


def body_of(*messages: Message, target: Target = HERE, **more: Any) -> dict[str, Any]:
    body = WIRE.encode(Prompt(messages, **more), target).body
    if target is HERE:
        check_gemini(body)
    return body


def contents_of(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = body_of(*messages, **more)["contents"]
    return contents


def candidate(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}]}


def end(reason: str = "STOP", **more: Any) -> dict[str, Any]:
    return candidate({"text": ""}, finishReason=reason, **more)


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\r\n\r\n" % json.dumps(event).encode() for event in events)
