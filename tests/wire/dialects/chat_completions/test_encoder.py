"""Chat Completions: what is sent."""

from __future__ import annotations

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
from nbtool.wire import Prompt, Target, ToolSpec
from tests.wire.chatting import HERE, WIRE, body


def encode_messages(*messages: Message, target: Target = HERE, **prompt: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = body(*messages, target=target, **prompt)["messages"]
    return encoded


def able(*abilities: str) -> Target:
    return Target("host.example", "m", frozenset(abilities))


def echoing(payload: dict[str, Any], *parts: Any, host: str = "host.example") -> Message:
    return Message("assistant", parts, native=Native("chat", host, "m", {"role": "assistant", **payload}))


CALL = ToolCall("f", '{"x": 1}', id="c1", call_id="call_1", runnable=True)

RESULT = ToolResult("f", "two", id="c1", call_id="call_1")


def test_a_request_is_a_post_of_the_conversation() -> None:
    request = WIRE.encode(Prompt((user("Hi"),), system="Be brief."), HERE)

    assert (request.path, request.stream) == ("/chat/completions", True)
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_usage_is_not_asked_for_where_it_is_refused() -> None:
    assert "stream_options" not in body(user("Hi"), target=able("no_stream_options"))


def test_a_whole_reply_is_asked_for_without_stream_fields() -> None:
    assert body(user("Hi"), stream=False).keys() == {"model", "messages"}


def test_the_system_prompt_has_the_role_that_the_target_wants() -> None:
    assert encode_messages(user("Hi"), system="S", target=able("developer_role"))[0] == {
        "role": "developer",
        "content": "S",
    }


def test_tools_are_sent_with_a_schema_that_has_properties() -> None:
    tools = (ToolSpec("now", "The time.", {"type": "object"}),)
    function = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}

    assert body(user("Hi"), tools=tools)["tools"] == [{"type": "function", "function": function}]
    assert "tools" not in body(user("Hi"))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("now", {"type": "function", "function": {"name": "now"}}),
    ],
)
def test_a_choice_of_tools_goes_only_with_tools(choice: str, sent: Any) -> None:
    tools = (ToolSpec("now", "", {}),)

    assert body(user("Hi"), tools=tools, tool_choice=choice).get("tool_choice") == sent
    assert "tool_choice" not in body(user("Hi"), tool_choice=choice)


def test_options_are_merged_beside_what_is_written() -> None:
    options = {"temperature": 0, "stream_options": {"x": 1}, "seed": None}

    sent = body(user("Hi"), options=options)

    assert (sent["temperature"], sent["stream_options"]) == (0, {"include_usage": True, "x": 1})
    assert "seed" not in sent


def test_the_limit_of_tokens_has_the_name_that_the_target_knows() -> None:
    assert body(user("Hi"), options={"max_tokens": 5})["max_tokens"] == 5
    sent = body(user("Hi"), options={"max_tokens": 5}, target=able("max_completion_tokens"))
    assert sent["max_completion_tokens"] == 5
    assert "max_tokens" not in sent


def test_calls_and_results_pair_by_id() -> None:
    sent = encode_messages(user("Hi"), assistant("Let me see.", CALL), results(RESULT))

    function = {"name": "f", "arguments": '{"x": 1}'}
    assert sent[1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "two"},
    ]


def test_a_message_of_calls_alone_has_empty_content_where_a_server_cannot_do_without() -> None:
    sent = encode_messages(assistant(CALL), results(RESULT), target=able("empty_content"))

    assert sent[0]["content"] == ""
    assert sent[0]["tool_calls"]


def test_a_message_of_calls_alone_has_no_content() -> None:
    assert "content" not in encode_messages(assistant(CALL))[0]


def test_calls_without_arguments_send_an_empty_object_and_empty_results_a_word() -> None:
    sent = encode_messages(
        assistant(ToolCall("f", "", id="c1", call_id="call_1")), results(ToolResult("f", "", "c1", "call_1"))
    )

    assert sent[0]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert sent[1]["content"] == "(empty)"


def test_ids_that_come_back_in_a_later_round_are_made_unique() -> None:
    again = ToolCall("f", "{}", id="c1", call_id="call_2")
    sent = encode_messages(
        assistant(CALL), results(RESULT), assistant(again), results(ToolResult("f", "x", "c1", "call_2"))
    )

    ids = [sent[0]["tool_calls"][0]["id"], sent[2]["tool_calls"][0]["id"]]
    assert len(set(ids)) == 2
    assert [sent[1]["tool_call_id"], sent[3]["tool_call_id"]] == ids


def test_ids_are_short_where_the_target_wants_it() -> None:
    sent = encode_messages(assistant(CALL), results(RESULT), target=able("short_call_ids"))

    given = sent[0]["tool_calls"][0]["id"]
    assert len(given) == 9
    assert given.isalnum()
    assert sent[1]["tool_call_id"] == given


def test_an_own_message_goes_back_as_it_came() -> None:
    signed = {
        "id": "functions.f:0",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"g": 1},
    }
    made = ToolCall("f", "{}", id="functions.f:0", call_id="call_1")

    sent = encode_messages(echoing({"content": "Hi", "tool_calls": [signed], "unknown": 1}, Text("Hi"), made))

    assert sent == [{"role": "assistant", "content": "Hi", "tool_calls": [signed]}]


def test_a_message_of_another_host_is_rebuilt() -> None:
    message = echoing({"content": "native", "extra_content": 1}, Text("Hi"), Thinking("Hm"), host="other.example")

    assert encode_messages(message) == [{"role": "assistant", "content": "Hi"}]


@pytest.mark.parametrize(
    ("ability", "with_call", "without"),
    [(None, False, False), ("echo_reasoning", True, True), ("echo_reasoning_with_calls", True, False)],
)
def test_thoughts_go_back_only_where_they_are_wanted(ability: str | None, with_call: bool, without: bool) -> None:
    target = able(*([ability] if ability else []))
    payload_call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asking = echoing({"tool_calls": [payload_call], "reasoning_content": "Hm"}, CALL)
    saying = echoing({"content": "Hi", "reasoning_content": "Hm"}, Text("Hi"))

    sent = encode_messages(asking, results(RESULT), saying, target=target)

    assert ("reasoning_content" in sent[0], "reasoning_content" in sent[2]) == (with_call, without)


def test_a_refusal_goes_back_as_text_and_an_empty_message_not_at_all() -> None:
    assert encode_messages(assistant(Refusal("No.")), assistant(), user("")) == [
        {"role": "assistant", "content": "No."}
    ]


def test_media_are_parts() -> None:
    sent = encode_messages(
        user(
            "See",
            Media("image/png", data=b"\0"),
            Media("image/png", url="https://host.example/x.png"),
            Media("audio/mpeg", data=b"\0"),
            Media("application/pdf", data=b"\0", name="a.pdf"),
            Media("text/csv", data=b"a,b", name="a.csv"),
        )
    )

    assert sent[0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://host.example/x.png"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        {"type": "text", "text": "a.csv\na,b"},
    ]


@pytest.mark.parametrize(
    "media", [Media("video/mp4", data=b"\0"), Media("audio/wav", url="https://host.example/x.wav")]
)
def test_media_that_cannot_be_carried_are_refused(media: Media) -> None:
    with pytest.raises(Unsupported, match="cannot carry"):
        encode_messages(user(media))


def test_pictures_of_a_result_follow_in_a_message_of_their_own() -> None:
    result = ToolResult("f", "a plot", "c1", "call_1", media=(Media("image/png", data=b"\0"),))

    sent = encode_messages(assistant(CALL), results(result))

    assert [message["role"] for message in sent] == ["assistant", "tool", "user"]
    assert sent[2]["content"][1]["type"] == "image_url"


def test_lone_surrogates_never_leave() -> None:
    sent = encode_messages(user("a\ud83d"), assistant("b\ud83d"), system="c\ud83d")

    assert [message["content"] for message in sent] == ["c\ufffd", "a\ufffd", "b\ufffd"]


def test_a_message_is_written_once_while_it_lives() -> None:
    said = user("Hi")

    first, again, other = encode_messages(said)[0], encode_messages(said, system="S")[1], encode_messages(user("Hi"))[0]

    assert first is again
    assert first is not other


def test_a_call_in_a_form_of_its_own_goes_back_as_it_came_with_the_id_of_the_request() -> None:
    own = {"type": "custom", "id": "", "custom": {"name": "f", "input": "x"}}
    sent = encode_messages(
        user("?"), echoing({"tool_calls": [own]}, CALL), results(ToolResult("f", "1", call_id="call_1"))
    )

    (call,) = sent[1]["tool_calls"]
    assert call == {**own, "id": sent[2]["tool_call_id"]}
