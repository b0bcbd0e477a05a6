"""The phases of a reply (commentary and final answer): kept for the next request, and only the answer is the text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.chat.conversation.restore import restore_turn
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.turn.reply_deltas import with_deltas
from nbtool.event_json import dump_event, load_event
from nbtool.messages import Message, Text, Thinking, ToolCall, assistant, user
from nbtool.plugins import Privacy
from nbtool.wire import Prompt, Target, decode, find_wire
from nbtool.wire.prompted.prompted_wire import PromptedWire
from tests.chaos import ChaosServer, Received, Step, head, serve_by
from tests.wire import responding

FIRST, ANSWER = "I will look at the data first.", "It is 42."
MODES: list[HistoryMode] = ["compact", "native", "results", "text"]
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def message(number: int, phase: str | None, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": f"m{number}", "type": "message", "role": "assistant", "status": "completed", "phase": phase,
        "content": content,
    }  # fmt: skip


def call_item() -> dict[str, Any]:
    return {
        "type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": "{}", "status": "completed",
    }  # fmt: skip


def events(*items: dict[str, Any], late: bool = False) -> list[dict[str, Any]]:
    """Return the events of a reply; with `late` a message has no phase before its end."""
    result: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        started = {**item, "content": [], **({"phase": None} if late else {})} if item["type"] == "message" else item
        result.append({"type": "response.output_item.added", "output_index": index, "item": started})
        if item["type"] == "message":
            text = item["content"][0]["text"]
            for piece in (text[:4], text[4:]):
                result.append({"type": "response.output_text.delta", "output_index": index, "delta": piece})
        result.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*result, responding.completed_event(*items, usage=USAGE)]


TWO = (message(1, "commentary", FIRST), message(2, "final_answer", ANSWER))
STREAMS = {
    "stream": responding.stream(*events(*TWO)),
    "phase at the end": responding.stream(*events(*TWO, late=True)),
    "final event only": responding.stream(responding.completed_event(*TWO)),
}


@tool(run="auto")
def look() -> str:
    "Look."
    return "seen"


@contextmanager
def answering(*replies: bytes) -> Iterator[ChaosServer]:
    """Serve these replies in turn, the last one again and again."""
    left = list(replies)

    def answer(_: Received) -> list[Step]:
        return [head(), left.pop(0) if len(left) > 1 else left[0]]

    with serve_by(answer) as server:
        yield server


def chat_at(server: ChaosServer, **more: Any) -> Chat:
    return Chat("openai:m", base_url=f"{server.url}/v1", api_key="k", wire="responses", **more)


def phases_in(request: Received) -> list[tuple[Any, Any]]:
    items = [item for item in request.json["input"] if item.get("role") == "assistant"]
    texts = [item["content"] if isinstance(item["content"], str) else item["content"][0]["text"] for item in items]
    return [(item.get("phase"), text) for item, text in zip(items, texts, strict=True)]


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("mode", MODES)
def test_both_phases_are_in_the_next_request(mode: HistoryMode, form: str) -> None:
    with answering(STREAMS[form]) as server:
        chat = chat_at(server, history=mode)
        chat.send("Go")
        chat.send("And now?")

    assert phases_in(server.requests[-1]) == [("commentary", FIRST), ("final_answer", ANSWER)]


@pytest.mark.parametrize("mode", MODES)
def test_after_calls_each_text_has_its_phase(mode: HistoryMode) -> None:
    rounds = [events(message(1, "commentary", FIRST), call_item()), events(message(2, "final_answer", ANSWER))]
    with answering(*(responding.stream(*one) for one in rounds)) as server:
        chat = chat_at(server, history=mode, tools=[look])
        turn = chat.send("Go")
        chat.send("And now?")

    sent = phases_in(server.requests[-1])
    assert turn.text == ANSWER
    assert sent[-1] == ("final_answer", ANSWER)
    assert all(phase == "commentary" for phase, _ in sent[:-1])
    assert (FIRST in str(sent)) == (mode in ("compact", "native"))
    assert phases_in(server.requests[1]) == [("commentary", FIRST)]


@pytest.mark.parametrize("form", STREAMS)
def test_the_text_is_the_answer_and_the_flow_has_everything(form: str) -> None:
    with answering(STREAMS[form]) as server:
        turn = chat_at(server).send("Go")

    assert turn.text == ANSWER
    assert turn.natural_flow == turn.content == f"{FIRST}\n\n{ANSWER}"
    assert "".join(text.text for text in turn.content_texts) == turn.content
    assert [part.phase for part in turn.rounds[0].message.parts if isinstance(part, Text)] == [
        "commentary",
        "final_answer",
    ]


def test_a_value_is_read_from_the_answer() -> None:
    parts = message(1, "commentary", 'I think of {"value": 1}.'), message(2, "final_answer", '{"value": 2}')
    with answering(responding.stream(*events(*parts))) as server:
        turn = chat_at(server).send("Go", as_=int)

    assert turn.value == 2


def test_without_an_answer_the_commentary_is_the_text() -> None:
    with answering(responding.stream(*events(message(1, "commentary", FIRST)))) as server:
        assert chat_at(server).send("Go").text == FIRST


def test_masked_texts_keep_their_phases() -> None:
    with answering(STREAMS["stream"]) as server:
        chat = chat_at(server, plugins=[Privacy(names=["Ada"])])
        chat.send("Go, Ada")
        chat.send("And now?")

    assert [phase for phase, _ in phases_in(server.requests[-1])] == ["commentary", "final_answer"]


@pytest.mark.parametrize("tool_mode", ["native", "prompted"])
def test_phases_are_kept_where_tools_are_described(tool_mode: Any) -> None:
    with answering(STREAMS["stream"]) as server:
        chat = chat_at(server, tools=[look], tool_mode=tool_mode)
        assert chat.send("Go").text == ANSWER
        chat.send("And now?")

    assert phases_in(server.requests[-1]) == [("commentary", FIRST), ("final_answer", ANSWER)]


def test_a_turn_that_is_read_from_its_events_has_its_phases() -> None:
    with answering(STREAMS["stream"]) as server:
        turn = chat_at(server).send("Go")

    restored = restore_turn([load_event(dump_event(event)) for event in turn.log])

    assert restored.text == ANSWER
    assert [text.phase for text in restored.content_texts] == ["commentary", "final_answer"]


def test_a_view_shows_each_phase_as_a_block_of_its_own() -> None:
    with answering(STREAMS["stream"]) as server:
        turn = chat_at(server).send("Go")

    for events_shown in (turn.log, with_deltas(turn.log)):
        transcript = Transcript()
        for event in events_shown:
            transcript.feed(event)
        texts = [block["text"].strip() for block in transcript.document()["blocks"] if block["kind"] == "text"]
        assert texts == [FIRST, ANSWER]


@pytest.mark.parametrize("wire", ["chat", "anthropic", "gemini", "responses"])
def test_every_wire_sends_all_texts_of_a_message_with_phases(wire: str) -> None:
    said = assistant(Text(FIRST, phase="commentary"), Text(f"\n\n{ANSWER}", phase="final_answer"))
    call = ToolCall("look", "{}", id="c", call_id="c")
    body = (
        find_wire(wire)
        .encode(Prompt((Message("user", (Text("Go"),)), said.with_parts([*said.parts, call]))), Target("h", "m"))
        .body
    )

    assert FIRST in str(body)
    assert ANSWER in str(body)
    assert ("final_answer" in str(body)) == (wire == "responses")


def test_an_unknown_phase_goes_back_as_it_came() -> None:
    reply = decode("responses", responding.stream(*events(message(1, "analysis", FIRST))))

    assert reply.message.parts == (Text(FIRST, phase="analysis"),)
    assert reply.answer == FIRST


def test_where_tools_are_described_the_texts_around_a_call_keep_their_phases() -> None:
    parts = (
        Text(FIRST, phase="commentary"),
        ToolCall("look", "{}", id="c", call_id="c"),
        Text(ANSWER, phase="final_answer"),
        Thinking("Hm."),
        Text("More.", phase="final_answer"),
    )
    wire = PromptedWire(find_wire("responses"), "7f3a9c21")

    sent = wire.encode(Prompt((user("Go"), assistant(*parts))), Target("h", "m")).body["input"]

    assert [item.get("phase") for item in sent[1:]] == ["commentary", "final_answer", "final_answer"]
    assert sent[1]["content"].startswith(FIRST)
    assert "look" in sent[1]["content"]


def test_the_end_of_a_call_in_the_text_is_before_a_text_of_another_phase() -> None:
    call = ToolCall("look", "{}", id="c", call_id="c")
    wire = PromptedWire(find_wire("responses"), "7f3a9c21")

    sent = wire.encode(
        Prompt((user("Go"), assistant(Text(ANSWER, phase="final_answer"), call))), Target("h", "m")
    ).body["input"]

    assert [item.get("phase") for item in sent[1:]] == ["final_answer"]
