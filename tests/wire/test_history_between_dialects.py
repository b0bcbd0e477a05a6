"""A reply of one dialect, sent to another server: rewritten where its form does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.messages import Media, Message, Native, Text, ToolCall, user
from nbtool.wire import Prompt, Target, find_wire
from nbtool.wire.dialects.chat_completions.encoder import SHORT_CALL_IDS

HERE = Target("host.example", "m")
LOOK = ToolCall("look", "{}", id="c1", call_id="ours_1", runnable=True)
PICTURE = Media("image/png", data=b"PNG")


def encode_messages(name: str, *messages: Message, target: Target = HERE) -> Any:
    body = find_wire(name).encode(Prompt(messages), target).body
    return body["input"] if name == "responses" else body["messages"]


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_a_picture_that_the_model_made_last_goes_back_as_the_persons(name: str) -> None:
    last = encode_messages(name, user("Draw."), Message("assistant", (Text("Here."), PICTURE)))[-1]

    assert last["role"] == "user"
    assert [part["type"] for part in last["content"]] in (["image"], ["input_image"])


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_system_messages_have_no_place_in_the_dialogue(name: str) -> None:
    assert [said["role"] for said in encode_messages(name, Message("system", (Text("Be brief."),)), user("Hi"))] == [
        "user"
    ]


def test_a_file_by_its_address_stays_an_address() -> None:
    (said,) = encode_messages("responses", Message("user", (Media("application/pdf", url="https://x.example/a.pdf"),)))

    assert said["content"] == [{"type": "input_file", "file_url": "https://x.example/a.pdf"}]


@pytest.mark.parametrize("payload", ["words", {"content": "Hi", "tool_calls": []}, {"content": "Hi"}])
def test_a_chat_message_that_does_not_fit_its_parts_is_rewritten(payload: Any) -> None:
    message = Message("assistant", (Text("Hi"), LOOK), native=Native("chat", HERE.host, HERE.model, payload))
    (said,) = encode_messages("chat", message)

    assert [made["function"] for made in said["tool_calls"]] == [{"name": "look", "arguments": "{}"}]


def test_a_call_without_arguments_goes_back_with_an_empty_object() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}
    payload = {"role": "assistant", "tool_calls": [made]}
    message = Message("assistant", (LOOK,), native=Native("chat", HERE.host, HERE.model, payload))
    (said,) = encode_messages("chat", message)

    assert said["tool_calls"] == [{**made, "function": {"name": "look", "arguments": "{}"}}]


def test_ids_of_nine_letters_stay_where_only_those_are_taken() -> None:
    short = Target(HERE.host, HERE.model, frozenset({SHORT_CALL_IDS}))
    calls = [LOOK, ToolCall("look", "{}", id="abcdefgh9", call_id="ours_2", runnable=True)]
    (said,) = encode_messages("chat", Message("assistant", tuple(calls)), target=short)
    first, second = (made["id"] for made in said["tool_calls"])

    assert (len(first), first.isalnum(), second) == (9, True, "abcdefgh9")


@pytest.mark.parametrize(("length", "is_kept"), [(64, True), (65, False)])
def test_a_round_goes_back_as_it_came_where_its_ids_are_not_too_long(length: int, is_kept: bool) -> None:
    call_id = "c" * length
    made = ToolCall("look", "{}", id=call_id, call_id="ours_1", runnable=True)
    item = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "look", "arguments": "{}"}
    item["status"] = "completed"
    message = Message("assistant", (made,), native=Native("responses", HERE.host, HERE.model, [item]))
    (said,) = encode_messages("responses", message)

    assert ("status" in said, said["call_id"] == call_id) == (is_kept, is_kept)
