"""Replies in which any field may be anything: an error of ours, or a reply that can go back into the next request."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from nbtool.errors import NbtoolError
from nbtool.messages import Message, ToolResult, user
from nbtool.wire import Prompt, Reply, Target, decode, find_wire

MUTATIONS = 150
"""Replies of each dialect, shape and share of odd values that are tried."""

ODD: tuple[Any, ...] = (
    None, 0, -1, 1.5, True, "", "x", "\ud800", 10**30, [], {}, [None], [{}], [[]], {"a": 1}, {"text": 5}, {"error": {}},
)  # fmt: skip
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
THOUGHT = {"type": "reasoning.text", "text": "Hm", "index": 0}
TEXT = {"role": "assistant", "content": "Hi", "reasoning": "Hm", "reasoning_details": [THOUGHT], "tool_calls": [CALL]}
USED = {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}}
BLOCKS = [
    {"type": "thinking", "thinking": "Hm", "signature": "sealed"},
    {"type": "text", "text": "Hi"},
    {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
]
ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]},
    {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a": 1}'},
]
PARTS = [
    {"text": "Hm", "thought": True},
    {"text": "Hi", "thoughtSignature": "c2VhbGVk"},
    {"functionCall": {"name": "look", "args": {"a": 1}, "id": "g1"}, "thoughtSignature": "c2VhbGVk"},
    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
]
PIECE = {"jsonPath": "$.a", "numberValue": 1, "willContinue": False}
WHOLE: dict[str, Any] = {
    "chat": {"choices": [{"index": 0, "message": TEXT, "finish_reason": "tool_calls"}], "usage": USED},
    "anthropic": {
        "id": "m1", "type": "message", "content": BLOCKS, "stop_reason": "tool_use", "usage": {"input_tokens": 3},
    },
    "responses": {"id": "r1", "status": "completed", "output": ITEMS, "usage": {"input_tokens": 3}},
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 2}, "promptFeedback": {"safetyRatings": []},
    },
}  # fmt: skip
STREAMED: dict[str, list[Any]] = {
    "chat": [
        {"choices": [{"index": 0, "delta": TEXT, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": "stop"}]},
        {"choices": [], "usage": USED},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"id": "m1", "content": []}},
        *({"type": "content_block_start", "index": at, "content_block": block} for at, block in enumerate(BLOCKS)),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "!"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ],
    "responses": [
        *({"type": "response.output_item.added", "output_index": at, "item": item} for at, item in enumerate(ITEMS)),
        {"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "Hi"},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "fc_1", "delta": "{}"},
        *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(ITEMS)),
        {"type": "response.completed", "response": WHOLE["responses"]},
    ],
    "gemini": [
        *({"candidates": [{"content": {"parts": [part]}, "index": 0}]} for part in PARTS),
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "look", "willContinue": True}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [PIECE], "willContinue": True}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]},
        {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": {}},
    ],
}


def mutate(value: Any, chance: random.Random, share: float) -> Any:
    """Put something odd in the place of some values, and leave some out."""
    if chance.random() < share:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {name: mutate(inner, chance, share) for name, inner in value.items() if chance.random() > share / 2}
    return [mutate(inner, chance, share) for inner in value] if isinstance(value, list) else value


def sent_back(reply: Reply) -> list[str]:
    """The next request in every dialect, with a result for each call."""
    results = tuple(ToolResult(call.name, "1", id=call.id, call_id=call.call_id) for call in reply.calls)
    said = (user("Hi"), reply.message, *((Message("tool", results),) if results else ()), user("Go on."))
    wires = map(find_wire, WHOLE)
    return [json.dumps(wire.encode(Prompt(said), Target("", "")).body) for wire in wires]


def decoded_text(dialect: str, values: Any, *, stream: bool) -> Reply | str:
    """What is read of these values, or the words of the error."""
    events = values if isinstance(values, list) else [values]
    body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    try:
        return decode(dialect, body if stream else json.dumps(values).encode(), stream=stream)
    except NbtoolError as error:
        return str(error)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", WHOLE)
def test_whatever_is_in_a_reply_it_is_read_or_refused(dialect: str, stream: bool, share: float) -> None:
    chance = random.Random(f"{dialect} {stream} {share}")
    expected = STREAMED[dialect] if stream else WHOLE[dialect]
    found = [decoded_text(dialect, mutate(expected, chance, share), stream=stream) for _ in range(MUTATIONS)]
    replies = [reply for reply in found if isinstance(reply, Reply)]

    assert replies
    assert all("\n" not in words for words in found if isinstance(words, str))
    for reply in replies:
        assert all(call.name and isinstance(call.args, dict) for call in reply.calls if call.runnable)
        assert reply.complete or not any(call.runnable for call in reply.calls)
        assert all(sent_back(reply))
