"""Responses whose fields are not what they should be: what can be read is read, nothing is invented."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from nbtool.errors import NbtoolError, ProviderError, RateLimited
from nbtool.events import ReplyEnd, TextDelta
from nbtool.messages import Media, Refusal, Text, Thinking
from nbtool.wire import Reply, decode, find_wire
from tests.wire.reading import close, feed, feed_with_error
from tests.wire.streams import deltas, lines

MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}


def completed_event(*output: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output)}}


def responses(*values: Any) -> Reply:
    return decode("responses", lines(*values))


def test_what_follows_the_end_in_the_same_bytes_is_not_read() -> None:
    decoder = find_wire("responses").decoder()
    found = feed(decoder, lines(completed_event(MESSAGE), {"type": "error", "error": {"message": "late"}}))

    assert isinstance(found[-1], ReplyEnd)
    assert decoder.is_done
    assert close(decoder) == []


@pytest.mark.parametrize(
    "body", [[], "words", {"error": {"message": "no"}}, {"status": "failed"}, {"status": "cancelled"}]
)
def test_a_document_that_is_no_response_says_why(body: Any) -> None:
    with pytest.raises(NbtoolError) as caught:
        decode("responses", json.dumps(body).encode(), stream=False)

    said = body.get("status") or "no" if isinstance(body, dict) else ""
    assert said in str(caught.value)


def test_fragments_that_are_no_text_say_nothing() -> None:
    found = deltas(
        "responses",
        {"type": "response.output_text.delta", "output_index": 0, "delta": 7},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": None},
    )

    assert found == [TextDelta("Hi")]


def test_arguments_for_something_that_is_no_call_are_dropped() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1"}}
    arguments = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "msg_1", "delta": "{}"}

    assert responses(item, arguments, completed_event(MESSAGE)).calls == ()


def test_a_fragment_without_a_place_belongs_to_the_item_that_is_open() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}
    arguments = {"type": "response.function_call_arguments.delta", "delta": '{"a": 1}'}
    whole = {**CALL, "arguments": '{"a": 1}'}

    assert [call.args for call in responses(item, arguments, completed_event(whole)).calls] == [{"a": 1}]


def test_an_item_that_ends_without_a_place_is_the_one_that_is_open() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "look"}}
    ended = {
        "type": "response.output_item.done",
        "item": {"type": "function_call", "name": "look", "arguments": '{"a": 1}'},
    }
    reply = responses(item, ended, {"type": "response.completed", "response": {"status": "completed"}})

    assert [(call.name, call.args) for call in reply.calls] == [("look", {"a": 1})]


def test_another_kind_of_item_in_the_place_of_one_is_another_item() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}

    assert responses(item, done, {"type": "response.completed", "response": {"status": "completed"}}).text == "Hi"


def test_parts_of_a_message_that_are_not_known_say_nothing() -> None:
    parts = [
        {"type": "new_part", "text": "x"},
        {"type": "output_text", "text": 7},
        {"type": "refusal", "refusal": "No."},
    ]

    assert responses(completed_event({**MESSAGE, "content": parts})).message.parts == (Refusal("No."),)


def test_a_message_whose_content_is_one_text_is_read() -> None:
    assert responses(completed_event({**MESSAGE, "content": "Hi"})).text == "Hi"


def test_a_picture_that_is_no_base64_is_left_out() -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    good = responses(completed_event({**made, "result": base64.b64encode(b"PNG").decode()}))
    bad = responses(completed_event({**made, "result": "%%%"}, {**made, "id": "ig_2", "result": "ü"}, MESSAGE))

    assert good.message.parts == (Media("image/png", data=b"PNG"),)
    assert bad.message.parts == (Text("Hi"),)


def test_an_error_in_a_stream_is_raised_after_what_came_before_it() -> None:
    decoder = find_wire("responses").decoder()
    words = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
    slow_down = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}
    deltas, error = feed_with_error(decoder, lines(words, slow_down))

    assert deltas == [TextDelta("Hi")]
    assert isinstance(error, RateLimited)


def test_an_error_without_words_still_is_one() -> None:
    with pytest.raises(ProviderError):
        responses({"type": "error"})


def test_arguments_that_only_fragments_brought_are_whole_at_the_end() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}
    pieces = [
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": piece}
        for piece in ('{"a"', ": 1}")
    ]
    reply = responses(item, *pieces, {"type": "response.completed", "response": {"status": "completed"}})

    assert [(call.name, call.args, call.runnable) for call in reply.calls] == [("look", {"a": 1}, True)]


def test_a_summary_of_thinking_is_thinking() -> None:
    parts = [{"type": "summary_text", "text": "Hm"}, {"type": "summary_text", "text": "."}]
    reply = responses(completed_event({"type": "reasoning", "id": "rs_1", "summary": parts}, MESSAGE))

    assert reply.message.parts == (Thinking("Hm."), Text("Hi"))
