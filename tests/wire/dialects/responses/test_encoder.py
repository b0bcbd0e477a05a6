"""Responses: what is sent."""

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
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.dialects.responses.encoder import NO_ENCRYPTED_REASONING, REASONING_SUMMARY
from tests.wire.responding import CALL_ITEM, HERE, REASONING, WIRE, body_of, input_of, message_item

PRICE = ToolSpec("price", "Latest close.", {"type": "object", "properties": {"ticker": {"type": "string"}}})

CALL = ToolCall("price", '{"ticker":"A"}', id="call_1", call_id="ours_1", runnable=True)

RESULT = ToolResult("price", "12.5", id="call_1", call_id="ours_1")


def round_of(*items: dict[str, Any], parts: tuple[Any, ...] = (CALL,), model: str = "thinker-1") -> Message:
    return Message("assistant", parts, native=Native("responses", "api.example", model, list(items)))


def test_a_request_asks_nothing_of_the_servers_memory() -> None:
    request = WIRE.encode(Prompt((user("Hi"),), system="Be brief.", tools=(PRICE,)), HERE)

    assert request.path == "/responses"
    assert request.stream
    assert request.body == {
        "model": "thinker-1",
        "input": [{"role": "user", "content": "Hi"}],
        "include": ["reasoning.encrypted_content"],
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "price",
                "description": "Latest close.",
                "parameters": {"type": "object", "properties": {"ticker": {"type": "string"}}},
                "strict": False,
            }
        ],
    }


def test_system_messages_join_the_instructions_with_a_blank_line() -> None:
    body = body_of(Message("system", (Text("Two."),)), user("Hi"), system="One.")

    assert body["instructions"] == "One.\n\nTwo."
    assert body["input"] == [{"role": "user", "content": "Hi"}]


def test_encrypted_reasoning_is_asked_for_unless_it_is_refused() -> None:
    refuses = frozenset({NO_ENCRYPTED_REASONING})

    assert body_of(user("Hi"), target=Target("h", "gpt-5"))["include"] == ["reasoning.encrypted_content"]
    assert "include" not in body_of(user("Hi"), target=Target("h", "openai/gpt-4.1"))
    assert "include" not in body_of(user("Hi"), target=Target("h", "gpt-5", refuses))


def test_outputs_of_tools_of_the_provider_are_asked_for_beside_encrypted_reasoning() -> None:
    body = body_of(user("Hi"), options={"provider_tools": ["web_search"]})

    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]


def test_a_summary_of_the_reasoning_is_asked_for_where_there_is_one() -> None:
    able = frozenset({REASONING_SUMMARY})

    assert body_of(user("Hi"), target=Target("h", "gpt-5", able))["reasoning"] == {"summary": "auto"}
    assert body_of(user("Hi"), target=Target("h", "gpt-5", able), options={"reasoning": {"effort": "low"}})[
        "reasoning"
    ] == {"summary": "auto", "effort": "low"}


def test_reasoning_is_asked_for_by_options_alone() -> None:
    plain = body_of(user("Hi"))
    asked = body_of(user("Hi"), options={"reasoning": {"effort": "low"}, "store": False})

    assert "reasoning" not in plain
    assert asked["reasoning"] == {"effort": "low"}
    assert asked["store"] is False


def test_a_round_goes_back_as_it_came() -> None:
    items = input_of(user("Price?"), round_of(REASONING, {**CALL_ITEM, "caller": None}), results(RESULT))

    assert items[1:] == [
        REASONING,
        CALL_ITEM,
        {"type": "function_call_output", "call_id": "call_1", "output": "12.5"},
    ]


@pytest.mark.parametrize(
    "elsewhere",
    [Target("other.example", "thinker-1"), Target("api.example", "thinker-2")],
    ids=["another host", "another model"],
)
def test_a_round_of_another_model_is_rebuilt_without_its_reasoning_and_ids(elsewhere: Target) -> None:
    items = input_of(user("Price?"), round_of(REASONING, CALL_ITEM), results(RESULT), target=elsewhere)

    assert items[1] == {
        "type": "function_call", "call_id": "call_1", "name": "price", "arguments": '{"ticker":"A"}',
    }  # fmt: skip


def test_null_fields_are_dropped_and_an_empty_summary_is_kept() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed", "content": None, "status": None}

    assert input_of(user("?"), round_of(reasoning, CALL_ITEM), results(RESULT))[1] == REASONING


def test_open_reasoning_goes_back_beside_its_sealed_form_too() -> None:
    content = [{"type": "reasoning_text", "text": "hm"}]
    plain = {"type": "reasoning", "id": "rs_1", "summary": [], "content": content}

    assert input_of(user("?"), round_of(plain, CALL_ITEM), results(RESULT))[1] == plain
    both = {**REASONING, "content": content}
    assert input_of(user("?"), round_of(both, CALL_ITEM), results(RESULT))[1] == both
    empty = {**REASONING, "content": []}
    assert input_of(user("?"), round_of(empty, CALL_ITEM), results(RESULT))[1] == REASONING


def test_reasoning_that_is_only_a_reference_is_left_out_with_all_ids() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = input_of(user("?"), round_of(bare, CALL_ITEM), results(RESULT))

    assert [item.get("type") for item in items] == [None, "function_call", "function_call_output"]
    assert "id" not in items[1]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    items = input_of(user("?"), round_of(REASONING, parts=()), user("Well?"))

    assert items == [{"role": "user", "content": "?"}, {"role": "user", "content": "Well?"}]


def test_tools_of_the_server_go_back_where_they_were() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    items = input_of(user("?"), round_of(REASONING, search, message_item("Found."), parts=(Text("Found."),)), user("!"))

    assert items[1:4] == [REASONING, search, message_item("Found.")]


def test_a_search_of_x_is_left_out_beside_the_calls_of_the_client() -> None:
    search = {"type": "custom_tool_call", "id": "x", "call_id": "xs_call_1", "name": "x_user_search", "input": "{}"}
    items = input_of(user("Hi"), round_of(search, CALL_ITEM), results(RESULT))

    assert items[1:] == [CALL_ITEM, {"type": "function_call_output", "call_id": "call_1", "output": "12.5"}]


def test_the_result_of_a_custom_call_has_a_type_of_its_own() -> None:
    custom = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_1", "name": "shell", "input": "ls"}
    call = ToolCall("shell", "ls", id="call_1", call_id="ours_1", error="The arguments are not JSON.")
    items = input_of(user("?"), round_of(custom, parts=(call,)), results(RESULT))

    assert items[1:] == [custom, {"type": "custom_tool_call_output", "call_id": "call_1", "output": "12.5"}]


@pytest.mark.parametrize("arguments", ["", '{"ticker": "A', "null", "[1]"])
def test_arguments_that_are_no_object_never_go_back(arguments: str) -> None:
    broken = ToolCall("price", arguments, id="call_1", call_id="ours_1")
    items = input_of(user("?"), Message("assistant", (broken,)), results(RESULT))

    assert items[1]["arguments"] == "{}"


def test_ids_that_two_rounds_share_are_distinguished() -> None:
    first = ToolCall("price", "{}", id="call_0", call_id="ours_1")
    second = ToolCall("price", "{}", id="call_0", call_id="ours_2")
    items = input_of(
        user("?"),
        Message("assistant", (first,)),
        results(ToolResult("price", "1", id="call_0", call_id="ours_1")),
        Message("assistant", (second,)),
        results(ToolResult("price", "2", id="call_0", call_id="ours_2")),
    )

    assert [item["call_id"] for item in items[1:]] == ["call_0", "call_0", "ours_2", "ours_2"]


def test_a_foreign_round_keeps_text_refusal_and_calls_in_order() -> None:
    message = assistant(Thinking("hm"), "Let me look. ", CALL, Refusal("Not that."))
    items = input_of(user("?"), message, results(RESULT))

    assert items[1:4] == [
        {"role": "assistant", "content": "Let me look. "},
        {"type": "function_call", "call_id": "call_1", "name": "price", "arguments": '{"ticker":"A"}'},
        {"role": "assistant", "content": "Not that."},
    ]


def test_pictures_and_files_go_in() -> None:
    picture, paper = Media("image/png", data=b"\x89P"), Media("application/pdf", data=b"%PDF", name="a.pdf")
    linked = Media("image/jpeg", url="https://example.org/a.jpg")

    assert input_of(user("Look:", picture, paper, linked)) == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look:"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVA="},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                {"type": "input_image", "image_url": "https://example.org/a.jpg"},
            ],
        }
    ]


def test_a_result_may_hold_a_picture() -> None:
    result = ToolResult("price", "A plot.", id="call_1", call_id="ours_1", media=(Media("image/png", data=b"\x89P"),))
    output = input_of(user("?"), assistant(CALL), results(result))[-1]["output"]

    assert [part["type"] for part in output] == ["input_text", "input_image"]


def test_a_picture_of_the_model_goes_back_as_the_persons() -> None:
    items = input_of(user("Draw."), assistant("Here.", Media("image/png", data=b"\x89P")), user("Again."))

    assert [part["type"] for part in items[2]["content"]] == ["input_image", "input_text"]


def test_sound_is_refused_with_a_way_out() -> None:
    with pytest.raises(Unsupported, match="audio/wav") as caught:
        input_of(user(Media("audio/wav", data=b"RIFF")))

    assert "--set wire=chat" in caught.value.fix


def test_the_choice_of_a_tool_is_encoded_in_the_dialects_words() -> None:
    def choice(wanted: str) -> Any:
        return body_of(user("?"), tools=(PRICE,), tool_choice=wanted).get("tool_choice")

    assert choice("auto") is None
    assert choice("required") == "required"
    assert choice("price") == {"type": "function", "name": "price"}


def test_lone_surrogates_never_leave() -> None:
    body = body_of(user("a\ud800b"), system="c\udfffd")

    assert body["input"][0]["content"] == "a\ufffdb"
    assert body["instructions"] == "c\ufffdd"
