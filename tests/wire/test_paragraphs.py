"""Separate texts of one reply are separate paragraphs: in every dialect, in the live deltas and in the turn."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat
from nbtool.events import TextDelta, ThinkingDelta
from tests.chaos import event, head, serve, whole
from tests.wire import anthropics
from tests.wire.framing.test_dialect_check import DOCUMENTS
from tests.wire.responding import CALL_ITEM, completed_event, message_item, stream
from tests.wire.test_many_calls import candidate


def item(kind: str, index: int, **values: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, "item_id": f"i{index}", **values}


def summary(*texts: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "i0", "summary": [{"type": "summary_text", "text": text} for text in texts]}


def blocks(*values: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m", "content": []}}]
    for index, value in enumerate(values):
        field = {"text": "text", "thinking": "thinking"}.get(value["type"], "")
        bare = {**value, field: ""} if field else value
        events.append({"type": "content_block_start", "index": index, "content_block": bare})
        if field:
            delta = {"type": f"{field}_delta", field: value[field]}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def thinking_part(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": ""}


def gemini_stream(*parts: dict[str, Any]) -> bytes:
    return b"".join(event(candidate(part)) for part in parts) + event(candidate(finishReason="STOP"))


CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FIRST, SECOND = message_item("One."), {**message_item("Two."), "id": "msg_2"}

REPLIES: dict[str, tuple[str, bytes, str, str]] = {
    "items that stream": ("responses", head() + stream(
        item("output_text.delta", 0, delta="On"), item("output_text.delta", 0, delta="e."),
        item("output_text.delta", 1, delta="Two."), completed_event(),
    ), "One.\n\nTwo.", ""),
    "items at the end": ("responses", head() + stream(completed_event(FIRST, SECOND)), "One.\n\nTwo.", ""),
    "items in a document": (
        "responses", whole(200, {"status": "completed", "output": [FIRST, SECOND]}), "One.\n\nTwo.", "",
    ),
    "parts of a summary that stream": ("responses", head() + stream(
        item("reasoning_summary_text.delta", 0, summary_index=0, delta="A"),
        item("reasoning_summary_text.delta", 0, summary_index=0, delta="a."),
        item("reasoning_summary_text.delta", 0, summary_index=1, delta="B."),
        item("output_text.delta", 1, delta="One."), completed_event(),
    ), "One.", "Aa.\n\nB."),
    "parts of a summary at the end": (
        "responses", head() + stream(completed_event(summary("A.", "B."), FIRST)), "One.", "A.\n\nB.",
    ),
    "blocks": ("anthropic", head() + anthropics.stream(*blocks(text("One."), text("Two."))), "One.\n\nTwo.", ""),
    "blocks around a search": (
        "anthropic", head() + anthropics.stream(*blocks(text("One."), SEARCH, text("Two."))), "One.\n\nTwo.", "",
    ),
    "blocks in a document": ("anthropic", whole(
        200, {"type": "message", "content": [text("One."), text("Two.")], "stop_reason": "end_turn"}
    ), "One.\n\nTwo.", ""),
    "thoughts": ("anthropic", head() + anthropics.stream(
        *blocks(thinking_part("A."), text("One."), thinking_part("B."), text("Two."))
    ), "One.\n\nTwo.", "A.\n\nB."),
    "blocks with citations": ("anthropic", head() + anthropics.stream(
        *blocks(text("It is "), text("warm", citations=[]), text(" today."))
    ), "It is warm today.", ""),
    "texts that break of themselves": (
        "responses", head() + stream(completed_event(message_item("One.\n\n"), SECOND)), "One.\n\nTwo.", "",
    ),
    "parts that stream": ("gemini", head() + gemini_stream({"text": "On"}, {"text": "e."}), "One.", ""),
    "parts around code that the provider ran": (
        "gemini", head() + gemini_stream({"text": "One."}, CODE, {"text": "Two."}), "One.\n\nTwo.", "",
    ),
    "thoughts around a text": (
        "gemini", head() + gemini_stream(
            {"text": "A.", "thought": True}, {"text": "On"}, {"text": "B.", "thought": True}, {"text": "e."},
        ), "One.", "A.\n\nB.",
    ),
    "one text": ("chat", whole(200, DOCUMENTS["chat"]), "Hello", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_separate_texts_are_separate_paragraphs(name: str) -> None:
    wire, body, said, thinking = REPLIES[name]
    received: list[Any] = []

    class Listener:
        def on_stream_data(self, context: Any) -> None:
            received.append(context.delta)

    with serve(body) as server:
        turn = Chat("m", base_url=server.url, wire=wire, plugins=[Listener()]).send("Hi")

    assert turn.status == "completed"
    assert turn.text == said
    assert "".join(delta.text for delta in received if isinstance(delta, TextDelta)) == said
    assert turn.thinking == thinking
    assert "".join(delta.text for delta in received if isinstance(delta, ThinkingDelta)) == thinking


def test_texts_around_a_call_are_separate_too() -> None:
    output = [FIRST, CALL_ITEM, SECOND]
    with serve(whole(200, {"status": "completed", "output": output})) as server:
        turn = Chat("m", base_url=server.url, wire="responses", max_rounds=1).send("Hi")

    assert turn.rounds[0].text == "One.\n\nTwo."
