"""What the tests of tools through the prompt share: what is told, what comes, and how it is read."""

from __future__ import annotations

import json
from typing import Any

from nbtool.events import Delta
from nbtool.messages import ToolCall
from nbtool.wire import Reply, ReplyBuilder, find_wire
from nbtool.wire.prompted.prompted_wire import PromptedWire
from tests.wire.reading import close, feed

FENCE = "7f3a"

INNER = find_wire("chat")

CALL = ToolCall("price", '{"ticker": "A"}', id="1", call_id="c1", runnable=True)

WRITTEN = '```call-7f3a\n{"name": "price", "arguments": {"ticker": "A"}}\n```'


def stream_body(*pieces: str, finish: str | None = "stop", thinking: str = "") -> bytes:
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces]
    if thinking:
        deltas.insert(1, {"reasoning_content": thinking})
    frames = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames)
    return (body + ("data: [DONE]\n\n" if finish else "")).encode()


def read(body: bytes, *, cut: int | None = None, wire: PromptedWire | None = None) -> tuple[Reply, list[Delta]]:
    decoder = (wire or PromptedWire(INNER, FENCE)).decoder()
    parts = [body] if cut is None else [body[:cut], body[cut:]]
    deltas = [delta for part in parts for delta in feed(decoder, part)] + close(decoder)
    builder = ReplyBuilder()
    for delta in deltas:
        builder.add(delta)
    return builder.reply(), deltas
