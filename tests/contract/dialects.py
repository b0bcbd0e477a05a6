"""One answer of a model in the form of each dialect, as a stream or as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

PATHS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
FRAGMENT = 6
"""Number of characters of a text, or of a call's arguments, in one event."""


@dataclass(frozen=True)
class Call:
    """A call of the model, with its arguments as it wrote them."""

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(frozen=True)
class Answer:
    """What the model answers."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    is_complete: bool = True
    input_tokens: int = 10
    output_tokens: int = 5
    model: str = "tiny"
    stop: str = ""


def find_dialect(path: str) -> str:
    """Return the dialect of a path, or nothing."""
    plain = path.partition("?")[0]
    return next((dialect for ending, dialect in PATHS.items() if plain.endswith(ending)), "")


def encode(dialect: str, answer: Answer, *, is_stream: bool) -> list[bytes]:
    """Give the body of a reply, in the pieces in which a provider sends it; one that is cut off lacks its end."""
    if not is_stream:
        whole = json.dumps(WHOLES[dialect](answer)).encode()
        return [whole] if answer.is_complete else [whole[: len(whole) // 2]]
    events = list(STREAMS[dialect](answer))
    return [event for event, is_end in events if answer.is_complete or not is_end]


Event = tuple[bytes, bool]
"""An event of a stream, and whether it belongs to the end of the reply."""


def _event(body: Any, name: str = "", *, is_end: bool = False) -> Event:
    content = body if isinstance(body, str) else json.dumps(body)
    return (f"event: {name}\n" if name else "").encode() + f"data: {content}\n\n".encode(), is_end


def _fragments(text: str) -> Iterator[str]:
    for start in range(0, len(text), FRAGMENT):
        yield text[start : start + FRAGMENT]


def _ids(answer: Answer, prefix: str) -> list[tuple[str, Call]]:
    return [(call.id or f"{prefix}{at}", call) for at, call in enumerate(answer.calls)]


def _whole_chat(answer: Answer) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for id, call in _ids(answer, "call_")
        ]
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": answer.model, "usage": _chat_usage(answer),
        "choices": [{"index": 0, "message": message, "finish_reason": _chat_stop(answer)}],
    }  # fmt: skip


def _chat_stop(answer: Answer) -> str:
    return answer.stop or ("tool_calls" if answer.calls else "stop")


def _chat_usage(answer: Answer) -> Any:
    total = answer.input_tokens + answer.output_tokens
    return {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}


def _stream_chat(answer: Answer) -> Iterator[Event]:
    def chunk(delta: Any, stop: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": answer.model, "choices": [choice]}
        return _event(body, is_end=stop is not None)

    yield chunk({"role": "assistant", "content": ""})
    for part in _fragments(answer.thinking):
        yield chunk({"reasoning_content": part})
    for part in _fragments(answer.text):
        yield chunk({"content": part})
    for at, (id, call) in enumerate(_ids(answer, "call_")):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": at, "id": id, "type": "function", "function": function}]})
        for part in _fragments(call.arguments):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield chunk({}, _chat_stop(answer))
    usage = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": answer.model, "choices": []}
    yield _event({**usage, "usage": _chat_usage(answer)}, is_end=True)
    yield _event("[DONE]", is_end=True)


def _whole_responses(answer: Answer) -> Any:
    items: list[dict[str, Any]] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": "rs_0", "summary": summary})
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_0", "role": "assistant", "content": content})
    for at, (id, call) in enumerate(_ids(answer, "call_")):
        function = {"call_id": id, "name": call.name, "arguments": call.arguments}
        items.append({"type": "function_call", "id": f"fc_{at}", **function})
    total = answer.input_tokens + answer.output_tokens
    return {
        "id": "r", "object": "response", "created_at": 1, "model": answer.model, "status": "completed",
        "output": [{**item, "status": "completed"} for item in items],
        "usage": {
            "input_tokens": answer.input_tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total,
        },
    }  # fmt: skip


def _stream_responses(answer: Answer) -> Iterator[Event]:
    body = _whole_responses(answer)
    yield _event({"type": "response.created", "response": {**body, "status": "in_progress", "output": []}})
    for at, item in enumerate(body["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        empty = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}
        started = {**item, **empty[item["type"]], "status": "in_progress"}
        yield _event({"type": "response.output_item.added", "output_index": at, "item": started})
        if item["type"] == "message":
            (part,) = item["content"]
            place["content_index"] = 0
            yield _event({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
            for piece in _fragments(part["text"]):
                yield _event({"type": "response.output_text.delta", **place, "delta": piece})
            yield _event({"type": "response.output_text.done", **place, "text": part["text"]})
        if item["type"] == "function_call":
            for piece in _fragments(item["arguments"]):
                yield _event({"type": "response.function_call_arguments.delta", **place, "delta": piece})
            done = {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
            yield _event(done)
        yield _event({"type": "response.output_item.done", "output_index": at, "item": item})
    yield _event({"type": "response.completed", "response": body}, is_end=True)


def _whole_anthropic(answer: Answer) -> Any:
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "signed"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for id, call in _ids(answer, "toolu_"):
        blocks.append({"type": "tool_use", "id": id, "name": call.name, "input": json.loads(call.arguments)})
    return {
        "id": "m", "type": "message", "role": "assistant", "model": answer.model, "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
    }  # fmt: skip


def _stream_anthropic(answer: Answer) -> Iterator[Event]:
    body = _whole_anthropic(answer)
    started = {**body, "content": [], "stop_reason": None}
    yield _event({"type": "message_start", "message": started}, "message_start")
    for at, block in enumerate(body["content"]):
        match block["type"]:
            case "thinking":
                empty = {**block, "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": part} for part in _fragments(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                empty = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in _fragments(block["text"])]
            case _:
                empty = {**block, "input": {}}
                texts = _fragments(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in texts]
        start = {"type": "content_block_start", "index": at, "content_block": empty}
        yield _event(start, "content_block_start")
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": at}, "content_block_stop")
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": answer.output_tokens}
    yield _event({"type": "message_delta", "delta": ending, "usage": usage}, "message_delta", is_end=True)
    yield _event({"type": "message_stop"}, "message_stop", is_end=True)


def _whole_gemini(answer: Answer) -> Any:
    parts: list[dict[str, Any]] = []
    if answer.thinking:
        parts.append({"text": answer.thinking, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    for id, call in _ids(answer, "g"):
        function = {"name": call.name, "args": json.loads(call.arguments), "id": id}
        parts.append({"functionCall": function, "thoughtSignature": "c2lnbmVk"})
    total = answer.input_tokens + answer.output_tokens
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens, "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": total,
        },
        "modelVersion": answer.model, "responseId": "r",
    }  # fmt: skip


def _stream_gemini(answer: Answer) -> Iterator[Event]:
    body = _whole_gemini(answer)
    (candidate,) = body["candidates"]
    for part in candidate["content"]["parts"]:
        content = {"role": "model", "parts": [part]}
        yield _event({"candidates": [{"content": content, "index": 0}], "responseId": "r"})
    last = {**candidate, "content": {"role": "model", "parts": [{"text": ""}]}}
    yield _event({**body, "candidates": [last]}, is_end=True)


WHOLES: dict[str, Callable[[Answer], Any]] = {
    "chat": _whole_chat,
    "responses": _whole_responses,
    "anthropic": _whole_anthropic,
    "gemini": _whole_gemini,
}
STREAMS: dict[str, Callable[[Answer], Iterator[Event]]] = {
    "chat": _stream_chat,
    "responses": _stream_responses,
    "anthropic": _stream_anthropic,
    "gemini": _stream_gemini,
}
DIALECTS = tuple(WHOLES)
