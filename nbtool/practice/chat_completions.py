"""The server side of the Chat Completions protocol.

`validate_request` rejects what a real server would reject, `complete_response` returns a reply as one JSON object, and
`response_chunks` as the chunks of a stream, in the order of
https://platform.openai.com/docs/api-reference/chat-streaming: the role, then the thinking, the text in small pieces,
each call's name and its arguments in fragments, the finish reason, and the usage.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.practice.plan import Plan

FRAGMENT_CHARS = 9
"""Number of characters of a call's arguments in one chunk."""
ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """A model of the practice server; `chars_per_second` 0 means no delay."""

    chars_per_second: float = 110.0
    has_tools: bool = True
    thinks_before_calls: bool = False
    thinks_always: bool = False
    makes_images: bool = False


MODELS = {
    "default": ModelTraits(thinks_before_calls=True),
    "fast": ModelTraits(chars_per_second=0),
    "plain": ModelTraits(has_tools=False),
    "thinking": ModelTraits(thinks_always=True),
    "image": ModelTraits(makes_images=True),
}


class RequestRejected(Exception):
    """The request is rejected, with a status and an error body like OpenAI's."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def validate_request(body: Any) -> ModelTraits:
    """Return the model of a request.

    Raises:
        RequestRejected: a Chat Completions server would reject the request.
    """
    if not isinstance(body, dict):
        raise RequestRejected(400, "The body must be a JSON object.")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise RequestRejected(400, "'messages' must be a list with at least one message.", param="messages")
    model = find_model(body)
    if model.makes_images:
        raise RequestRejected(
            400, f"{body['model']} only generates images: POST /v1/images/generations.", param="model"
        )
    if body.get("tools") and not model.has_tools:
        raise RequestRejected(400, f"{body['model']} does not support tools", param="tools")
    for tool in body.get("tools") or []:
        if not re.fullmatch(r"[\w-]{1,64}", tool["function"]["name"], re.ASCII):
            raise RequestRejected(
                400, "'function.name' must be 1 to 64 of letters, digits, '_' and '-'.", param="tools"
            )
    _check_order(body["messages"])
    return model


def find_model(body: Mapping[str, Any]) -> ModelTraits:
    """Return the model that a request names.

    Raises:
        RequestRejected: there is no model of this name.
    """
    if model := MODELS.get(str(body.get("model"))):
        return model
    text = f"The model `{body.get('model')}` does not exist or you do not have access to it."
    raise RequestRejected(404, text, param="model", code="model_not_found")


def _check_order(messages: list[Any]) -> None:
    """Check that every call is answered right after it, and that every answer has a call."""
    open_calls: set[str] = set()
    for index, message in enumerate([*messages, {"role": "user"}]):
        location = f"messages.[{index}]"
        if message["role"] not in ROLES:
            raise RequestRejected(400, f"'{location}.role' must be one of {', '.join(ROLES)}.", param=location)
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                raise RequestRejected(400, f"Invalid parameter: {text}", param=location)
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            raise RequestRejected(
                400, f"{text} 'tool_call_id'. Without a response: {', '.join(sorted(open_calls))}", param=location
            )
        else:
            open_calls = {call["id"] for call in message.get("tool_calls") or []}


def complete_response(body: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return a reply as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": plan.text or None}
    if plan.thinking:
        message["reasoning_content"] = plan.thinking
    if plan.calls:
        message["tool_calls"] = [_call(body, plan, index, call.arguments) for index, call in enumerate(plan.calls)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(plan)}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": _usage(body, plan)}


def response_chunks(body: Mapping[str, Any], plan: Plan) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield a reply as the chunks of a stream; each with its number of characters."""
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""}), 0
    for key, text in (("reasoning_content", plan.thinking), ("content", plan.text)):
        for text_piece in re.findall(r"\s*\S{1,8}|\s+$", text):
            yield chunk({key: text_piece}), len(text_piece)
    for index, call in enumerate(plan.calls):
        yield chunk({"tool_calls": [{"index": index, **_call(body, plan, index, "")}]}), len(call.name)
        for start in range(0, len(call.arguments), FRAGMENT_CHARS):
            fragment = call.arguments[start : start + FRAGMENT_CHARS]
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}), len(fragment)
    yield chunk({}, _finish(plan)), 0
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(body, plan)}, 0


def _call(body: Mapping[str, Any], plan: Plan, index: int, arguments: str) -> dict[str, Any]:
    function = {"name": plan.calls[index].name, "arguments": arguments}
    return {"id": _id("call", body, index), "type": "function", "function": function}


def _finish(plan: Plan) -> str:
    return "tool_calls" if plan.calls else "stop"


def _head(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    # No timestamp: equal requests get equal bytes.
    return {"id": _id("chatcmpl", body), "object": kind, "created": 0, "model": body["model"]}


def _id(prefix: str, body: Mapping[str, Any], index: int = 0) -> str:
    seed = json.dumps([body["messages"], index], sort_keys=True).encode()
    return f"{prefix}_{hashlib.sha256(seed).hexdigest()[:24]}"


def _usage(body: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Count four characters as one token: an estimate, because there is no tokenizer here."""
    prompt_tokens = len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4
    thinking_tokens = len(plan.thinking) // 4
    completion_tokens = (
        thinking_tokens + (len(plan.text) + sum(len(call.name + call.arguments) for call in plan.calls)) // 4
    )
    details = {"completion_tokens_details": {"reasoning_tokens": thinking_tokens}}
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        **details,
    }
