"""One answer in the form of each dialect, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.chaos import Step, event, head, whole

Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the model answers: text, and calls as pairs of a name and its arguments; Vertex AI gives them no ids."""

    text: str = "Well."
    calls: tuple[tuple[str, Body], ...] = ()
    thinking: str = ""
    has_ids: bool = True


def encode_answer(dialect: str, answer: Answer, *, stream: bool) -> list[Step]:
    """Give the steps of an answer in a dialect."""
    if stream:
        return [head(), *STREAMS[dialect](answer)]
    return [whole(200, WHOLES[dialect](answer))]


# --- Chat Completions -----------------------------------------------------------------------------------------


def whole_chat(answer: Answer) -> Body:
    message: Body = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for at, (name, arguments) in enumerate(answer.calls)
        ]
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    finish = "tool_calls" if answer.calls else "stop"
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


def stream_chat(answer: Answer) -> list[bytes]:
    body = whole_chat(answer)
    (choice,) = body["choices"]
    delta = choice["message"]
    for at, call in enumerate(delta.get("tool_calls", [])):
        call["index"] = at
    return [
        event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        event({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}),
        event({"choices": [], "usage": body["usage"]}),
        event("[DONE]"),
    ]


# --- Responses ------------------------------------------------------------------------------------------------


def whole_responses(answer: Answer) -> Body:
    items: list[Body] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": "rs_0", "summary": summary, "encrypted_content": "sealed"})
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_0", "role": "assistant", "content": content})
    items += [
        {
            "type": "function_call", "id": f"fc_{at}", "call_id": f"c{at}", "name": name,
            "arguments": json.dumps(arguments),
        }
        for at, (name, arguments) in enumerate(answer.calls)
    ]  # fmt: skip
    output = [{**item, "status": "completed"} for item in items]
    return {
        "id": "resp_1", "object": "response", "status": "completed", "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip


def stream_responses(answer: Answer) -> list[bytes]:
    body = whole_responses(answer)
    done = [
        event({"type": "response.output_item.done", "output_index": at, "item": item})
        for at, item in enumerate(body["output"])
    ]
    return [*done, event({"type": "response.completed", "response": body})]


# --- Anthropic Messages ---------------------------------------------------------------------------------------


def whole_anthropic(answer: Answer) -> Body:
    blocks: list[Body] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "signed"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    blocks += [
        {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": arguments}
        for at, (name, arguments) in enumerate(answer.calls)
    ]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "end_turn", "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip


def stream_anthropic(answer: Answer) -> list[bytes]:
    body = whole_anthropic(answer)
    blocks = [
        event({"type": kind, "index": at, **({"content_block": block} if kind.endswith("start") else {})})
        for at, block in enumerate(body["content"])
        for kind in ("content_block_start", "content_block_stop")
    ]
    return [
        event({"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}),
        *blocks,
        event({"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": body["usage"]}),
        event({"type": "message_stop"}),
    ]


# --- Gemini ---------------------------------------------------------------------------------------------------


def whole_gemini(answer: Answer) -> Body:
    parts: list[Body] = []
    if answer.thinking:
        parts.append({"text": answer.thinking, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    for at, (name, arguments) in enumerate(answer.calls):
        signature = {} if at else {"thoughtSignature": "c2lnbmVk"}  # the first call of a reply alone is signed
        ids = {"id": f"g{at}"} if answer.has_ids else {}
        parts.append({"functionCall": {"name": name, "args": arguments, **ids}, **signature})
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
        "responseId": "r1",
    }


def stream_gemini(answer: Answer) -> list[bytes]:
    body = whole_gemini(answer)
    (candidate,) = body["candidates"]
    parts = candidate["content"]["parts"]
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "responseId": "r1"}
        for part in parts
    ]
    last = {**body, "candidates": [{**candidate, "content": {"role": "model", "parts": [{"text": ""}]}}]}
    return [event(chunk).replace(b"\n", b"\r\n") for chunk in (*chunks, last)]


WHOLES: dict[str, Callable[[Answer], Body]] = {
    "chat": whole_chat,
    "responses": whole_responses,
    "anthropic": whole_anthropic,
    "gemini": whole_gemini,
}
STREAMS: dict[str, Callable[[Answer], list[bytes]]] = {
    "chat": stream_chat,
    "responses": stream_responses,
    "anthropic": stream_anthropic,
    "gemini": stream_gemini,
}
