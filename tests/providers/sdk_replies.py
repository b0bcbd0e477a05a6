"""Replies of each dialect with one member of a union of its SDK, and what a decoder makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbtool.errors import WireError
from nbtool.events import ReplyEnd
from nbtool.wire import find_wire
from tests.wire import anthropics, chatting, geminis, responding
from tests.wire.reading import close, feed

Frame = Callable[[str, Any], bytes]
"""Makes a reply with a member, by its name and its sample; an empty name makes one without it."""

RESPONSE = {"id": "r", "model": "m", "status": "completed", "output": []}
START = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
STOP = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})


def response(**fields: Any) -> bytes:
    return responding.stream({"type": "response.completed", "response": {**RESPONSE, **fields}})


def message(*content: Any) -> dict[str, Any]:
    return {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": list(content)}


def response_event(name: str, sample: Any) -> bytes:
    events = [{"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}}, *([sample] * bool(name))]
    return responding.stream(*events) + response()


def annotated(name: str, sample: Any) -> bytes:
    return response(
        output=[message({"type": "output_text", "text": "Hi", "annotations": [sample] if name else []})],
    )


def response_word(name: str, sample: Any) -> bytes:  # noqa: ARG001 - a word has no sample
    details = {"status": "incomplete", "incomplete_details": {"reason": name}} if name else {}
    return response(output=[message({"type": "output_text", "text": "Hi"})], **details)


def response_status(name: str, sample: Any) -> bytes:  # noqa: ARG001 - as above
    return json.dumps({**RESPONSE, "status": name or "completed"}).encode()


def blocks(*events: Any) -> bytes:
    return anthropics.stream(START, *events, *STOP)


def block(name: str, sample: Any) -> bytes:
    used = {"type": "server_tool_use", "id": "sample of tool_use_id", "name": "web_search", "input": {}}
    content = [used, sample] if name.endswith("_tool_result") else [sample] * bool(name)
    return blocks(*(
        {"type": "content_block_start", "index": index, "content_block": one} for index, one in enumerate(content)
    ))  # fmt: skip


def block_delta(name: str, sample: Any) -> bytes:
    kind = {"input_json_delta": "tool_use", "thinking_delta": "thinking", "signature_delta": "thinking"}.get(
        name, "text"
    )
    started = {"type": kind, "id": "t", "name": "f", kind: ""}
    events = (
        [{"type": "content_block_start", "index": 0, "content_block": started}]
        if name != "compaction_delta"
        else [{"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": ""}}]
    )
    return blocks(*events, *([{"type": "content_block_delta", "index": 0, "delta": sample}] * bool(name)))


def cited(name: str, sample: Any) -> bytes:
    text = {"type": "text", "text": "Hi", "citations": [sample] if name else None}
    return blocks({"type": "content_block_start", "index": 0, "content_block": text})


def whole_message(name: str, sample: Any) -> bytes:
    fields = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    return json.dumps({**fields, **({name: sample} if name else {})}).encode()


def anthropic_word(name: str, sample: Any) -> bytes:  # noqa: ARG001 - as above
    return json.dumps({"type": "message", "content": [], "stop_reason": name or "unheard"}).encode()


def anthropic_event(name: str, sample: Any) -> bytes:
    known = {"content_block_start": START, "message_delta": START, "message_stop": START}
    started = anthropics.stream(known.get(name, START))
    return started + (anthropics.stream(sample) if name and name != "message_start" else b"")


def chat_chunk(name: str, sample: Any) -> bytes:
    return chatting.stream(
        chatting.chunk({"content": "Hi"}, **({name: sample} if name else {})), chatting.chunk({}, "stop")
    )


def chat_choice(name: str, sample: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": "Hi"}, **({name: sample} if name else {})}
    return chatting.stream({"choices": [choice]})


def chat_delta(name: str, sample: Any) -> bytes:
    return chatting.stream(chatting.chunk({name: sample} if name else {}), chatting.chunk({}, "stop"))


def chat_message(name: str, sample: Any) -> bytes:
    choice = {"index": 0, "message": {name: sample} if name else {}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


def chat_word(name: str, sample: Any) -> bytes:  # noqa: ARG001 - as above
    return chatting.stream(chatting.chunk({}, name or "unheard"))


def gemini_reply(name: str, sample: Any) -> bytes:
    reply = geminis.candidate({"text": "Hi"}, finishReason="STOP")
    return json.dumps({**reply, **({name: sample} if name else {})}).encode()


def gemini_candidate(name: str, sample: Any) -> bytes:
    given = {name: sample} if name else {}
    return json.dumps(
        {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP", **given}]}
    ).encode()


def gemini_part(name: str, sample: Any) -> bytes:
    own = {name: sample} if name else {}
    text = {"text": "Hi"} if name in ("thought", "thoughtSignature") else {}
    return json.dumps(geminis.candidate(*([{**text, **own}] * bool(own)), finishReason="STOP")).encode()


def gemini_grounding(name: str, sample: Any) -> bytes:
    given = {"groundingMetadata": {name: sample} if name else {}}
    if name == "groundingSupports":
        given["groundingMetadata"]["groundingChunks"] = [{"web": {"uri": "u", "title": "t"}}] * 2
    return gemini_candidate("groundingMetadata", given["groundingMetadata"])


def gemini_source(name: str, sample: Any) -> bytes:
    return gemini_grounding("groundingChunks", [{name: sample}] if name else [])


def gemini_word(name: str, sample: Any) -> bytes:  # noqa: ARG001 - as above
    return json.dumps(geminis.candidate({"text": "Hi"}, finishReason=name or "UNHEARD")).encode()


def gemini_block(name: str, sample: Any) -> bytes:  # noqa: ARG001 - as above
    return json.dumps({"promptFeedback": {"blockReason": name} if name else {}}).encode()


FRAMES: dict[str, Frame] = {
    "responses events": response_event,
    "responses items": lambda name, sample: response(output=[sample] if name else []),
    "responses annotations": annotated,
    "responses content": lambda name, sample: response(output=[message(*([sample] * bool(name)))]),
    "responses response": lambda name, sample: response(**({name: sample} if name else {})),
    "responses reasons": response_word,
    "responses statuses": response_status,
    "anthropic events": anthropic_event,
    "anthropic blocks": block,
    "anthropic deltas": block_delta,
    "anthropic citations": cited,
    "anthropic message": whole_message,
    "anthropic reasons": anthropic_word,
    "chat chunk": chat_chunk,
    "chat choice": chat_choice,
    "chat delta": chat_delta,
    "chat message": chat_message,
    "chat reasons": chat_word,
    "gemini reply": gemini_reply,
    "gemini candidate": gemini_candidate,
    "gemini part": gemini_part,
    "gemini grounding": gemini_grounding,
    "gemini source": gemini_source,
    "gemini reasons": gemini_word,
    "gemini blocks": gemini_block,
}


def effects(union: str, name: str = "", sample: Any = None) -> list[str]:
    """Return what a decoder makes of a reply: its deltas without what is only kept to be sent back, or its error."""
    decoder, shown = find_wire(union.partition(" ")[0]).decoder(), []
    try:
        for delta in (*feed(decoder, FRAMES[union](name, sample)), *close(decoder), *close(decoder)):
            if isinstance(delta, ReplyEnd):
                delta = replace(delta, native=None, finish_reason="")
            shown.append(repr(delta))
    except WireError as error:
        shown.append(str(error))
    return [*shown, str(getattr(decoder, "pending", "")), str(getattr(decoder, "continuation", ""))]
