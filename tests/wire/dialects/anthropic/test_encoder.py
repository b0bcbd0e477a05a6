"""Anthropic Messages: what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.errors import Unsupported
from nbtool.messages import (
    Media,
    Message,
    Native,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    results,
    user,
)
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.dialects.anthropic.encoder import DEFAULT_MAX_TOKENS, THINKING_DISPLAY
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from tests.wire.anthropics import HERE, REDACTED, SIGNED, USE, WIRE, body_of, messages_of

MARKED = Target("api.example", "thinker-1")

PRICE = ToolSpec("price", "Latest close.", {"type": "object", "properties": {"ticker": {"type": "string"}}})

CALL = ToolCall("price", '{"ticker": "A"}', id="toolu_1", call_id="ours_1", runnable=True)

RESULT = ToolResult("price", "12.5", id="toolu_1", call_id="ours_1")


def round_of(*blocks: dict[str, Any], parts: tuple[Any, ...] = (CALL,)) -> Message:
    return Message("assistant", parts, native=Native("anthropic", "api.example", "thinker-1", list(blocks)))


def test_a_request_says_everything_the_dialect_asks_for() -> None:
    request = WIRE.encode(Prompt((user("Hi"),), system="Be brief.", tools=(PRICE,)), HERE)

    assert (request.path, request.stream) == ("/messages", True)
    assert request.headers == {"anthropic-version": "2023-06-01"}
    assert request.body == {
        "model": "thinker-1",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [
            {
                "name": "price",
                "description": "Latest close.",
                "input_schema": {"type": "object", "properties": {"ticker": {"type": "string"}}},
            }
        ],
    }


def test_thinking_gets_its_tokens_on_top_of_the_replys() -> None:
    thinking = {"type": "enabled", "budget_tokens": 4000}

    assert body_of(user("Hi"), options={"thinking": thinking})["max_tokens"] == DEFAULT_MAX_TOKENS + 4000
    assert body_of(user("Hi"), options={"thinking": thinking, "max_tokens": 5000})["max_tokens"] == 5000


def test_the_stable_prefix_is_marked_for_the_cache() -> None:
    body = body_of(user("One"), assistant("1"), user("Two"), target=MARKED, system="S", tools=(PRICE, PRICE_TWO))

    assert "cache_control" in body["system"][-1]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert ["cache_control" in message["content"][-1] for message in body["messages"]] == [True, False, True]


PRICE_TWO = ToolSpec("price_two", "", {})


@pytest.mark.parametrize("mark", [None, {"type": "ephemeral"}])
def test_an_option_takes_the_place_of_the_marks(mark: Any) -> None:
    body = body_of(user("One"), assistant("1"), user("Two"), target=MARKED, options={"cache_control": mark})

    assert "cache_control" not in json.dumps(body["messages"])
    assert body.get("cache_control") == mark


def test_a_message_with_no_block_that_takes_a_mark_is_sent_without() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    body = body_of(user("One"), round_of(search, parts=()), target=MARKED)

    assert body["messages"][-1] == {"role": "assistant", "content": [search]}


def test_marks_never_change_what_a_message_holds() -> None:
    message = round_of(SIGNED, USE)
    body_of(user("One"), message, results(RESULT), user("Two"), assistant("2"), user("Three"), target=MARKED)

    assert message.native is not None
    assert message.native.payload == [SIGNED, USE]


def test_all_results_of_a_round_are_first_in_one_user_message() -> None:
    other = ToolCall("price", "{}", id="toolu_2", call_id="ours_2")
    failed = ToolResult("price", "No such ticker.", id="toolu_2", call_id="ours_2", is_error=True)
    messages = messages_of(user("?"), assistant(CALL, other), results(RESULT), results(failed), user("Well?"))

    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12.5"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "No such ticker.", "is_error": True},
        {"type": "text", "text": "Well?"},
    ]


def test_an_empty_result_has_no_content_and_no_empty_text() -> None:
    silent = ToolResult("price", " ", id="toolu_1", call_id="ours_1")

    assert messages_of(user("?"), assistant(CALL), results(silent))[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1"}
    ]


def test_messages_of_one_role_are_one_message() -> None:
    messages = messages_of(user("One"), user("Two"), assistant("1"), assistant("2"), user("Three"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [len(message["content"]) for message in messages] == [2, 2, 1]


def test_a_dialogue_begins_with_the_person() -> None:
    messages = messages_of(assistant("Hello."), user("Hi"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_empty_texts_are_never_sent() -> None:
    stored = round_of({"type": "text", "text": ""}, {"type": "text", "text": " "}, {"type": "text"}, USE)
    messages = messages_of(user("", "?", "\n"), stored, results(RESULT), assistant(" "), user("Well?"))

    assert messages[0]["content"] == [{"type": "text", "text": "?"}]
    assert messages[1]["content"] == [USE]
    assert len(messages) == 3


def test_thinking_goes_back_untouched_even_where_its_text_is_empty() -> None:
    messages = messages_of(user("?"), round_of(SIGNED, REDACTED, USE), results(RESULT))

    assert messages[1]["content"] == [SIGNED, REDACTED, USE]


@pytest.mark.parametrize(
    "elsewhere",
    [Target("other.example", "thinker-1"), Target("api.example", "thinker-2")],
    ids=["another host", "another model"],
)
def test_thinking_of_another_model_stays_behind(elsewhere: Target) -> None:
    message = round_of(SIGNED, USE, parts=(Thinking("hm"), CALL))

    assert messages_of(user("?"), message, results(RESULT), target=elsewhere)[1]["content"] == [USE]


def test_a_message_never_ends_in_thinking() -> None:
    answer = {"type": "text", "text": "Yes."}
    messages = messages_of(user("?"), round_of(answer, SIGNED, parts=(Text("Yes."),)), user("Sure?"))

    assert messages[1]["content"] == [answer]


def test_a_pause_goes_back_and_the_rest_joins_it() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    answer = {"type": "text", "text": "Found."}
    paused, rest = round_of(search, parts=()), round_of(found, answer, parts=(Text("Found."),))

    assert messages_of(user("?"), paused)[-1] == {"role": "assistant", "content": [search]}
    assert messages_of(user("?"), paused, rest, user("!"))[1]["content"] == [search, found, answer]


def test_ids_fit_the_dialect() -> None:
    odd = ToolCall("price", "{}", id="functions.price:0", call_id="ours_1")
    messages = messages_of(user("?"), assistant(odd), results(ToolResult("price", "1", call_id="ours_1")))

    assert messages[1]["content"][0]["id"] == messages[2]["content"][0]["tool_use_id"] == "ours_1"


def test_names_that_no_tool_could_have_are_made_fit() -> None:
    odd = ToolCall("functions.price!", "{}", id="toolu_1", call_id="ours_1")

    assert messages_of(user("?"), assistant(odd), results(RESULT))[1]["content"][0]["name"] == "functions_price_"


def test_calls_of_the_past_bring_their_tools_along() -> None:
    body = body_of(user("?"), assistant(CALL), results(RESULT))

    assert [tool["name"] for tool in body["tools"]] == ["price"]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("price", {"type": "tool", "name": "price"}),
    ],
)
def test_the_choice_of_a_tool_is_encoded_in_the_dialects_words(wanted: str, said: Any) -> None:
    assert body_of(user("?"), tools=(PRICE,), tool_choice=wanted).get("tool_choice") == said


def test_pictures_papers_and_texts_go_in() -> None:
    parts = (
        Media("image/png", data=b"\x89P"),
        Media("image/png", url="https://example.org/a.png"),
        Media("application/pdf", data=b"%PDF", name="a.pdf"),
        Media("text/csv", data=b"a,b", name="a.csv"),
    )

    assert messages_of(user(*parts))[0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVA="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}, "title": "a.csv"},
    ]


def test_a_result_may_hold_a_picture() -> None:
    result = ToolResult("price", "A plot.", id="toolu_1", call_id="ours_1", media=(Media("image/png", data=b"\x89P"),))
    content = messages_of(user("?"), assistant(CALL), results(result))[2]["content"][0]["content"]

    assert [block["type"] for block in content] == ["text", "image"]


def test_a_picture_of_the_model_goes_back_as_the_persons() -> None:
    messages = messages_of(user("Draw."), assistant("Here.", Media("image/png", data=b"\x89P")), user("Again."))

    assert [block["type"] for block in messages[2]["content"]] == ["image", "text"]


def test_a_sound_of_the_model_goes_back_as_a_line_about_it() -> None:
    messages = messages_of(user("Sing."), assistant("La.", Media("audio/wav", data=b"RIFF")), user("Again."))

    assert [block["text"] for block in messages[1]["content"]] == ["La.", f"[{Media('audio/wav', data=b'RIFF')}]"]


def test_sound_is_refused_with_a_way_out() -> None:
    with pytest.raises(Unsupported, match="audio/wav") as caught:
        messages_of(user(Media("audio/wav", data=b"RIFF")))

    assert "--set wire=chat" in caught.value.fix


def test_a_refusal_and_lone_surrogates_go_back_as_plain_text() -> None:
    messages = messages_of(user("a\ud800"), assistant(Refusal("No.")), user("Why?"))

    assert messages[0]["content"][0]["text"] == "a\ufffd"
    assert messages[1]["content"] == [{"type": "text", "text": "No."}]


def test_thinking_is_shown_by_models_that_would_omit_it() -> None:
    able = Target("h", "claude-opus-5-5", frozenset({THINKING_DISPLAY}))

    assert body_of(user("Hi"), target=able)["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "thinking" not in body_of(user("Hi"), target=able, options={"thinking": None})
    disabled = {"type": "disabled"}
    assert body_of(user("Hi"), target=able, options={"thinking": disabled})["thinking"] == disabled
    assert "thinking" not in body_of(user("Hi"))


THINKING_MODELS = {
    "claude-opus-5-5": True,
    "claude-sonnet-5": True,
    "claude-fable-5-1": True,
    "claude-opus-5-5@20261001": True,
    "us.anthropic.claude-opus-5-5-v1:0": True,
    "anthropic/claude-opus-5.5": True,
    "bedrock/us.anthropic.claude-sonnet-5-5-20261001-v1:0": True,
    "vertex_ai/claude-haiku-5-5@20261001": True,
    "databricks-claude-sonnet-5-5": True,
    "Claude_Opus_5_5": True,
    "team/claude-5.5-sonnet": True,
    "claude-opus-12": True,
    "claude-opus-4-8": False,
    "claude-sonnet-4-5-20250929": False,
    "anthropic/claude-3-5-sonnet-20241022": False,
    "claude-3-opus-20240229": False,
    "us.anthropic.claude-sonnet-4-20250514-v1:0": False,
    "claude-sonnet-20251001": False,
    "claude-instant-1.2": False,
    "deepseek-v5": False,
}


@pytest.mark.parametrize("model", THINKING_MODELS)
@pytest.mark.parametrize("has_gateway", [False, True])
def test_the_display_of_thinking_is_asked_of_models_that_think_by_default(
    model: str, has_gateway: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    if has_gateway:
        endpoint = make_endpoint(model, base_url="https://gateway.example/v1", api_key="g", wire="anthropic")
    else:
        endpoint = make_endpoint(f"anthropic:{model}")

    assert (THINKING_DISPLAY in endpoint.abilities) is THINKING_MODELS[model]
