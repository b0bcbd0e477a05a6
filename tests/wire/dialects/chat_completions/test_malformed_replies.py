"""Chat Completions whose fields are not what they should be: what can be read is read, nothing is invented."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.errors import InvalidReply
from nbtool.messages import Text, Thinking
from nbtool.wire import decode
from tests.wire.streams import chat, chunk, lines


def test_a_chat_document_in_a_list_is_read() -> None:
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}

    assert decode("chat", json.dumps([body]).encode(), stream=False).text == "Hi"


@pytest.mark.parametrize("body", [[], [1], "words", 3])
def test_a_chat_document_without_choices_is_no_reply(body: Any) -> None:
    with pytest.raises(InvalidReply):
        decode("chat", json.dumps(body).encode(), stream=False)


def test_content_in_parts_is_joined_and_what_is_empty_says_nothing() -> None:
    reply = chat(chunk({"content": ["one ", {"type": "text", "text": "two"}, None, {}, []], "role": "assistant"}))

    assert reply.text == "one two"


def test_an_empty_thought_in_a_part_is_none() -> None:
    assert chat(
        chunk({"content": [{"type": "thinking", "thinking": []}, "Hi"], "role": "assistant"})
    ).message.parts == (Text("Hi"),)


def test_a_message_beside_a_delta_that_still_goes_on_is_not_taken() -> None:
    early = chunk({"content": "Hel"}, message={"content": "Hello there"})

    assert chat(early, chunk({"content": "lo"})).text == "Hello"


def test_a_whole_message_at_the_end_brings_only_what_the_deltas_did_not() -> None:
    def last(message: dict[str, Any]) -> dict[str, Any]:
        return chunk({}, "stop", message=message)

    assert decode("chat", lines(chunk({"content": "Hel"}), last({"content": "Hello"}))).text == "Hello"
    assert decode("chat", lines(chunk({"content": "Hello"}), last({"content": "Hello"}))).text == "Hello"
    assert decode("chat", lines(chunk({"content": "Hello"}), last({"content": None}))).text == "Hello"


def test_what_google_wants_back_is_kept_with_the_message_and_with_the_call() -> None:
    made = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"google": "a"}}
    reply = chat(chunk({"tool_calls": [made]}), chunk({"extra_content": {"google": "b"}, "content": "Hi"}))

    assert reply.message.native
    assert reply.message.native.payload["extra_content"] == {"google": "b"}
    assert reply.message.native.payload["tool_calls"][0]["extra_content"] == {"google": "a"}


def test_a_late_extra_beside_more_arguments_is_kept_too() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a":'}}
    more = {"index": 0, "function": {"arguments": "1}"}, "extra_content": {"google": "a"}}
    reply = chat(chunk({"tool_calls": [first]}), chunk({"tool_calls": [more]}))

    assert reply.message.native
    assert [call.args for call in reply.calls] == [{"a": 1}]
    assert reply.message.native.payload["tool_calls"][0]["extra_content"] == {"google": "a"}


def test_an_empty_fragment_of_arguments_adds_nothing() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    reply = chat(chunk({"tool_calls": [first]}), chunk({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}))

    assert [call.arguments for call in reply.calls] == ["{}"]


def test_an_id_that_is_a_number_is_an_id() -> None:
    first = {"index": 0, "id": 7, "function": {"name": "look", "arguments": "{}"}}

    assert [call.id for call in chat(chunk({"tool_calls": [first]})).calls] == ["7"]


def test_arguments_that_grow_by_whole_texts_are_taken_once() -> None:
    def actual(arguments: str) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": arguments}}]})

    grown = chat(actual('{"a"'), actual('{"a": 1}'))
    cut = chat(actual('{"a"'), actual('{"a": 1'))

    assert [call.args for call in grown.calls] == [{"a": 1}]
    assert [call.runnable for call in cut.calls] == [False]


def test_a_fragment_with_neither_index_nor_name_belongs_to_the_call_in_its_place() -> None:
    one = {"function": {"name": "one", "arguments": "{}"}}
    both = [{"function": {"name": "two", "arguments": '{"b":'}}, {"function": {"arguments": " 2}"}}]
    reply = chat(chunk({"tool_calls": [one]}), chunk({"tool_calls": both}))

    assert [(call.name, call.args) for call in reply.calls] == [("one", {}), ("two", {"b": 2})]


def test_a_thought_in_pieces_is_joined() -> None:
    thought = {"type": "thinking", "thinking": ["H", {"text": "m."}, 7]}

    assert chat(chunk({"content": [thought, "Hi"], "role": "assistant"})).message.parts == (Thinking("Hm."), Text("Hi"))


def test_a_whole_message_names_its_calls_by_their_place_where_ids_agree() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}
    whole = {"id": "c1", "function": {"name": "look", "arguments": '{"a": 1}'}}
    reply = decode(
        "chat", lines(chunk({"tool_calls": [first]}), chunk({}, "tool_calls", message={"tool_calls": [whole]}))
    )

    assert [(call.id, call.args) for call in reply.calls] == [("c1", {"a": 1})]


def test_a_field_of_a_thought_that_turns_null_keeps_what_it_was() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": "sealed", "format": "v1"},
        {"type": "reasoning.text", "index": 0, "text": "m.", "format": None, "id": None},
    ]
    reply = chat(*(chunk({"reasoning_details": [detail]}) for detail in details))

    assert reply.message.native
    assert reply.message.native.payload["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Hmm.", "signature": "sealed", "format": "v1", "id": None},
    ]


@pytest.mark.parametrize("data", ["%%%", "YQ"])
def test_a_picture_that_is_no_base64_is_not_taken(data: str) -> None:
    image = {"image_url": {"url": f"data:image/png;base64,{data}"}}

    assert chat(chunk({"images": [image], "content": "Hi"})).message.parts == (Text("Hi"),)


@pytest.mark.parametrize("url", ["data:text/plain;base64,aGk=", "data:image/png,aGk=", "file:///a.png", 7])
def test_what_is_no_picture_in_base64_is_not_taken(url: Any) -> None:
    image = {"image_url": {"url": url}}

    assert chat(chunk({"images": [image], "content": "Hi"})).message.parts == (Text("Hi"),)


def test_a_thought_of_databricks_is_in_a_part_of_the_content() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    reply = chat(chunk({"content": [thought]}), chunk({"content": [{"type": "text", "text": "Hi"}]}))

    assert (reply.thinking, reply.text) == ("Hm.", "Hi")


def test_a_thought_of_copilot_is_read_and_kept_for_the_echo() -> None:
    reply = chat(chunk({"reasoning_text": "Hm"}), chunk({"role": "assistant", "reasoning_text": "."}))

    assert reply.thinking == "Hm."
    assert reply.message.native
    assert reply.message.native.payload["reasoning_text"] == "Hm."


def test_a_usage_in_the_words_of_another_dialect_is_counted() -> None:
    usage = chat(chunk({"content": "Hi"}), {"choices": [], "usage": {"input_tokens": 3, "output_tokens": 4}}).usage

    assert (usage.input_tokens, usage.output_tokens) == (3, 4)
