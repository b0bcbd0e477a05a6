"""What the tests of Anthropic Messages share: events, streams, and how they are read."""

from __future__ import annotations

import json
from typing import Any

from nbtool.messages import Message
from nbtool.wire.base import Prompt, Target
from nbtool.wire.dialects.anthropic.encoder import NO_CACHE_CONTROL, AnthropicMessages
from tests.wire.validators import check_anthropic

WIRE = AnthropicMessages()

HERE = Target("api.example", "thinker-1", frozenset({NO_CACHE_CONTROL}))

USE = {"type": "tool_use", "id": "toolu_1", "name": "price", "input": {"ticker": "A"}}

SIGNED = {"type": "thinking", "thinking": "", "signature": "sealed"}

REDACTED = {"type": "redacted_thinking", "data": "sealed"}


def body_of(*messages: Message, target: Target = HERE, **more: Any) -> dict[str, Any]:
    body = WIRE.encode(Prompt(messages, **more), target).body
    check_anthropic(body)
    return body


def messages_of(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    given: list[dict[str, Any]] = body_of(*messages, **more)["messages"]
    return given


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)
