"""One answer in the form of each dialect, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.chaos import Step, event, head, whole

Body = dict[str, Any]

FRAGMENT = 5
"""Number of characters of a text, or of a call's arguments, in one event."""


@dataclass(frozen=True)
class Answer:
    """What the model answers: text, and calls as pairs of a name and its arguments; Vertex AI gives them no ids.

    With `is_broken` the arguments lack their last character, where a dialect has them as text; with `is_hidden` the
    thinking of Claude is signed and empty. A `namespace` is that of all calls, in the Responses API.
    """

    text: str = "Well."
    calls: tuple[tuple[str, Body], ...] = ()
    thinking: str = ""
    has_ids: bool = True
    is_broken: bool = False
    signature: str = "signed"
    is_hidden: bool = False
    namespace: str = ""

    def arguments_text(self, arguments: Body) -> str:
        """Return the arguments of a call as text."""
        return json.dumps(arguments)[: -1 if self.is_broken else None]


def encode_answer(dialect: str, answer: Answer, *, stream: bool) -> list[Step]:
    """Give the steps of an answer in a dialect."""
    if stream:
        return [head(), *STREAMS[dialect](answer)]
    return [whole(200, WHOLES[dialect](answer))]


def fragments(text: str) -> Iterator[str]:
    for start in range(0, len(text), FRAGMENT):
        yield text[start : start + FRAGMENT]


# --- Chat Completions -----------------------------------------------------------------------------------------


CHAT_FIELDS: Body = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "m"}


def whole_chat(answer: Answer) -> Body:
    message: Body = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"c{at}",
                "type": "function",
                "function": {"name": name, "arguments": answer.arguments_text(arguments)},
            }
            for at, (name, arguments) in enumerate(answer.calls)
        ]
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    finish = "tool_calls" if answer.calls else "stop"
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**CHAT_FIELDS, "object": "chat.completion", "choices": [choice], "usage": usage}


def stream_chat(answer: Answer) -> list[bytes]:
    body = whole_chat(answer)
    (choice,) = body["choices"]
    message = choice["message"]
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in fragments(answer.thinking)]
    deltas += [{"content": part} for part in fragments(answer.text)]
    for at, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        first = {**call, "index": at, "function": {**function, "arguments": ""}}
        rest = [{"index": at, "function": {"arguments": part}} for part in fragments(function["arguments"])]
        deltas += [{"tool_calls": [piece]} for piece in (first, *rest)]
    choices: list[list[Body]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    chunk = {**CHAT_FIELDS, "object": "chat.completion.chunk"}
    return [
        *(event({**chunk, "choices": one}) for one in choices),
        event({**chunk, "choices": [], "usage": body["usage"]}),
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
            "arguments": answer.arguments_text(arguments),
            **({"namespace": answer.namespace} if answer.namespace else {}),
        }
        for at, (name, arguments) in enumerate(answer.calls)
    ]  # fmt: skip
    output = [{**item, "status": "completed"} for item in items]
    return {
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "m", "status": "completed",
        "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": 3, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 7,
        },
    }  # fmt: skip


def stream_responses(answer: Answer) -> list[bytes]:
    body = whole_responses(answer)
    started = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[Body] = [{"type": f"response.{step}", "response": started} for step in ("created", "in_progress")]
    for at, item in enumerate(body["output"]):
        events += item_events(at, item)
    events.append({"type": "response.completed", "response": body})
    return [event({**one, "sequence_number": number}, one["type"]) for number, one in enumerate(events)]


def item_events(at: int, item: Body) -> Iterator[Body]:
    place = {"output_index": at, "item_id": item["id"]}
    empty = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}[item["type"]]
    yield {
        "type": "response.output_item.added", "output_index": at, "item": {**item, **empty, "status": "in_progress"},
    }  # fmt: skip
    match item["type"]:
        case "message":
            (part,) = item["content"]
            place["content_index"] = 0
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for piece in fragments(part["text"]):
                yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        case "function_call":
            for piece in fragments(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            yield {
                "type": "response.function_call_arguments.done", **place, "name": item["name"],
                "arguments": item["arguments"],
            }  # fmt: skip
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


# --- Anthropic Messages ---------------------------------------------------------------------------------------


def whole_anthropic(answer: Answer) -> Body:
    blocks: list[Body] = []
    if answer.thinking:
        blocks.append(
            {"type": "thinking", "thinking": "" if answer.is_hidden else answer.thinking, "signature": answer.signature}
        )
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    blocks += [
        {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": arguments}
        for at, (name, arguments) in enumerate(answer.calls)
    ]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_sequence": None,
        "stop_reason": "tool_use" if answer.calls else "end_turn", "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip


def stream_anthropic(answer: Answer) -> list[bytes]:
    body = whole_anthropic(answer)
    started = {**body, "content": [], "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
    events: list[Body] = [{"type": "message_start", "message": started}]
    for at, block in enumerate(body["content"]):
        empty, deltas = block_parts(block)
        events.append({"type": "content_block_start", "index": at, "content_block": empty})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": body["usage"]["output_tokens"]}},
        {"type": "message_stop"},
    ]
    return [event(one, one["type"]) for one in events]


def block_parts(block: Body) -> tuple[Body, list[Body]]:
    """Give a block as it starts, and the deltas that fill it."""
    match block["type"]:
        case "thinking":
            filling = [{"type": "thinking_delta", "thinking": piece} for piece in fragments(block["thinking"])]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*filling, signature]
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in fragments(block["text"])]
        case _:
            arguments = fragments(json.dumps(block["input"]))
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in arguments]


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
