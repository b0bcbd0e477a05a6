"""Members of replies that are rare: each is shown, or said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.events import Delta, StreamNotice
from nbtool.messages import Citation, Link, ProviderCall, ToolResult, results, user
from nbtool.wire import Prompt, Target, decode, find_wire
from nbtool.wire.dialects.reply_notices import moderation_notices
from tests.wire import anthropics, chatting, geminis, responding
from tests.wire.reading import close, feed


def deltas(dialect: str, body: bytes) -> list[Delta]:
    decoder = find_wire(dialect).decoder()
    return [*feed(decoder, body), *close(decoder)]


def notices(dialect: str, body: bytes) -> list[str]:
    return [delta.text for delta in deltas(dialect, body) if isinstance(delta, StreamNotice)]


def provider_calls(dialect: str, body: bytes) -> list[ProviderCall]:
    return [part for part in decode(dialect, body).message.parts if isinstance(part, ProviderCall)]


def completed(*items: dict[str, Any], **more: Any) -> bytes:
    return responding.stream(responding.completed_event(*items, **more))


# --- Responses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("no route", "no route"),
        ({"type": "http_error", "code": 502, "message": "Bad gateway"}, "Bad gateway (code 502)"),
        ({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "It broke"}]}, "It broke"),
        ({"type": "mcp_protocol_error"}, "mcp_protocol_error"),
    ],
)
def test_an_error_of_an_mcp_call_at_the_provider_is_its_output(error: Any, says: str) -> None:
    item = {"type": "mcp_call", "id": "i", "server_label": "lab", "name": "look", "arguments": "{}", "error": error}

    assert provider_calls("responses", completed(item)) == [ProviderCall("lab.look", "{}", says)]


def test_an_mcp_server_at_the_provider_that_gives_no_tools_is_reported_once() -> None:
    item = {"type": "mcp_list_tools", "id": "i", "server_label": "lab", "tools": [], "error": {"message": "refused"}}
    body = responding.stream(
        {"type": "response.output_item.done", "output_index": 0, "item": item}, responding.completed_event(item)
    )

    assert notices("responses", body) == ["The MCP server 'lab' at the provider gave no tools: refused"]


@pytest.mark.parametrize(("execution", "reason"), [("client", "action"), ("server", "end")])
def test_a_search_for_tools_is_shown_or_an_action_of_the_client(execution: str, reason: str) -> None:
    item = {"type": "tool_search_call", "id": "i", "call_id": "c", "execution": execution, "arguments": {"query": "x"}}

    reply = decode("responses", completed(item))

    assert reply.stop_reason == reason
    assert [part.text for part in reply.message.parts if isinstance(part, ProviderCall)] == ["x"] * (reason == "end")
    assert ("a search for tools" in reply.explanation) == (reason == "action")


def test_texts_that_come_only_at_their_end_are_read_once() -> None:
    done = [
        {"type": "response.reasoning_summary_text.done", "output_index": 0, "summary_index": 0, "text": "Hm."},
        {"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "One. "},
        {
            "type": "response.content_part.done",
            "output_index": 1,
            "content_index": 0,
            "part": {"type": "output_text", "text": "One. "},
        },
        {
            "type": "response.content_part.done",
            "output_index": 1,
            "content_index": 1,
            "part": {"type": "output_text", "text": "Two."},
        },
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]

    reply = decode("responses", responding.stream(*done))

    assert (reply.text, reply.thinking) == ("One. Two.", "Hm.")


def test_the_repetition_of_a_streamed_text_adds_nothing() -> None:
    fields = {"output_index": 0, "content_index": 0}
    streamed = [
        {"type": "response.output_text.delta", "delta": "Hi ", **fields},
        {"type": "response.output_text.delta", "delta": "you", **fields},
        {"type": "response.output_text.done", "text": "Hi you", **fields},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]

    assert decode("responses", responding.stream(*streamed)).text == "Hi you"


def test_sound_is_reported_and_its_transcript_is_the_text() -> None:
    events = [
        {"type": "response.audio.delta", "delta": "AAAA"},
        {"type": "response.audio.transcript.delta", "delta": "Hello"},
        {"type": "response.audio.delta", "delta": "AAAA"},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    body = responding.stream(*events)

    assert decode("responses", body).text == "Hello"
    assert len(notices("responses", body)) == 1


@pytest.mark.parametrize(
    ("reason", "stop_reason", "finish_reason"),
    [("max_messages", "length", "incomplete"), ("steered", "error", "steered")],
)
def test_a_reply_that_reached_its_number_of_messages_was_cut_off(
    reason: str, stop_reason: str, finish_reason: str
) -> None:
    end = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}

    reply = decode("responses", responding.stream({"type": "response.incomplete", "response": end}))

    assert (reply.stop_reason, reply.finish_reason) == (stop_reason, finish_reason)


def test_a_result_says_who_called_as_its_call_does() -> None:
    caller = {"type": "program", "caller_id": "p1"}
    item = {**responding.CALL_ITEM, "caller": caller, "namespace": "crm"}
    message = decode("responses", completed(item)).message
    made = message.calls[0]
    answer = results(ToolResult(made.name, "7", id=made.id, call_id=made.call_id))

    sent = find_wire("responses").encode(Prompt((user("Go"), message, answer)), Target("", "")).body["input"]

    assert [(one.get("caller"), one.get("namespace")) for one in sent[1:]] == [(caller, "crm")] * 2


# --- what a provider says beside a reply ---------------------------------------------------------------------------

FLAGGED = {"type": "moderation_result", "flagged": True, "categories": {"violence": True, "hate": False}}
CLEAN = {"type": "moderation_result", "flagged": False, "categories": {"violence": False}}
FAILED = {"type": "error", "code": "timeout", "message": "took too long"}


@pytest.mark.parametrize("dialect", ["responses", "chat"])
def test_what_moderation_found_is_reported(dialect: str) -> None:
    def body(before: Any, after: Any) -> bytes:
        if dialect == "responses":
            return completed(moderation={"input": before, "output": after})
        listed = {"input": {"results": [before]}, "output": {"results": [after]}}
        return chatting.stream(chatting.chunk({"content": "Hi"}, "stop"), {"choices": [], "moderation": listed})

    assert notices(dialect, body(CLEAN, CLEAN)) == []
    assert notices(dialect, body(CLEAN, FLAGGED)) == ["The provider's moderation flagged the reply: violence."]
    assert notices(dialect, body(FAILED, CLEAN)) == ["The provider could not moderate the prompt: took too long."]


def test_what_moderation_found_is_a_warning() -> None:
    found = {"input": {"results": [FLAGGED]}, "output": {"results": [CLEAN]}}

    assert [one.level for one in moderation_notices(found)] == ["warning"]


def test_reasoning_that_a_provider_removed_from_the_request_is_reported() -> None:
    removed = [{"id": "r", "action": "removed", "reason": "model_mismatch", "type": "reasoning"}] * 2
    dropped = [{"type": "thinking_dropped", "reason": "conversation_mismatch", "path": "messages.1"}]
    allowed = [{"type": "thinking_mismatch_allowed", "reason": "conversation_mismatch", "path": "messages.1"}]
    message = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}

    def anthropic(changes: Any) -> bytes:
        return json.dumps({**message, "input_transformations": changes}).encode()

    text = "The provider left {} of the earlier reasoning out of the request: {}."
    assert notices("responses", completed(input_transformations=removed)) == [text.format("2 parts", "model_mismatch")]
    assert notices("anthropic", anthropic(dropped)) == [text.format("1 part", "conversation_mismatch")]
    assert notices("anthropic", anthropic(allowed)) == []


# --- Anthropic -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ({"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b"]}, "-a\n+b"),
        ({"type": "code_execution_result", "stdout": "1", "content": [{"file_id": "f_1"}]}, "1\nfile f_1"),
        ({"type": "tool_search_tool_search_result", "tool_references": [{"tool_name": "look"}]}, "look"),
    ],
)
def test_the_contents_of_an_outcome_are_shown(content: Any, output: str) -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "tool", "input": {}}
    outcome = {"type": "tool_search_tool_result", "tool_use_id": "s", "content": content}
    blocks = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate((use, outcome))
    ]
    start = {"type": "message_start", "message": {"id": "m", "content": []}}
    body = anthropics.stream(
        start, *blocks, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}
    )

    assert [call.output for call in provider_calls("anthropic", body)] == [output]


def test_a_list_of_tools_is_not_shown() -> None:
    listing = {"type": "mcp_tool_listing", "mcp_server_name": "lab", "tools": [{"name": "look", "input_schema": {}}]}
    message = {"type": "message", "content": [listing], "stop_reason": "end_turn"}

    assert provider_calls("anthropic", json.dumps(message).encode()) == []


# --- Gemini --------------------------------------------------------------------------------------------------------


def gemini(*parts: dict[str, Any], **more: Any) -> bytes:
    return json.dumps(geminis.candidate(*parts, finishReason="STOP", **more)).encode()


def test_a_transcription_is_the_text() -> None:
    assert decode("gemini", gemini({"audioTranscription": {"text": "Hello"}})).text == "Hello"


def test_the_outcome_of_a_tool_and_unknown_parts_are_shown() -> None:
    body = gemini(
        {"toolCall": {"id": "1", "toolType": "URL_CONTEXT", "args": {"url": "u"}}},
        {"toolResponse": {"id": "1", "toolType": "URL_CONTEXT", "response": {"status": "read"}}},
        {"somethingNew": {"text": "new"}},
    )

    assert provider_calls("gemini", body) == [
        ProviderCall("url_context", '{"url": "u"}', '{"status": "read"}'),
        ProviderCall("somethingNew", output="new"),
    ]


def test_searches_for_pictures_and_their_sources_are_shown() -> None:
    chunks = [{"image": {"sourceUri": "u", "title": "Cats"}}, {"image": {}}, {"image": "unreadable"}]
    found = {"imageSearchQueries": ["cats"], "groundingChunks": chunks}

    parts = decode("gemini", gemini({"text": "Hi"}, groundingMetadata=found)).message.parts

    assert ProviderCall("google_search", "cats", links=(Link("u", "Cats"),)) in parts
    assert Citation(Link("u", "Cats")) in parts


def test_a_message_about_the_model_is_reported_once() -> None:
    reply = {**geminis.candidate({"text": "Hi"}, finishReason="STOP"), "modelStatus": {"message": "Ends in May."}}

    assert notices("gemini", json.dumps([reply, reply]).encode()) == ["Ends in May."]
