"""Anthropic Messages whose fields are not what they should be: what can be read is read, nothing is invented."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import InvalidReply
from nbtool.wire import Reply, decode
from tests.wire.streams import lines

BEGIN = {"type": "message_start", "message": {"id": "m1", "content": []}}
END = {"type": "message_stop"}


def start(index: Any, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def fragment(index: Any, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def reason(why: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": why}}


def anthropic(*values: Any, why: str = "end_turn") -> Reply:
    return decode("anthropic", lines(BEGIN, *values, reason(why), END))


def native(reply: Reply) -> Any:
    assert reply.message.native
    return reply.message.native.payload


def test_a_call_without_input_is_one_without_arguments() -> None:
    reply = anthropic(start(0, type="tool_use", id="t1", name="look", input=None), why="tool_use")

    assert [(call.name, call.args) for call in reply.calls] == [("look", {})]
    assert native(reply) == [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]


@pytest.mark.parametrize("written", ['{"a": ', "[1]", "[" * 100_000])
def test_a_call_whose_input_is_no_object_goes_back_without_any_and_does_not_run(written: str) -> None:
    block = start(0, type="tool_use", id="t1", name="look", input={})
    reply = anthropic(block, fragment(0, "input_json_delta", partial_json=written), why="tool_use")

    assert native(reply)[0]["input"] == {}
    assert [(call.runnable, call.arguments) for call in reply.calls] == [(False, written)]


def test_a_block_that_begins_twice_with_the_same_words_began_once() -> None:
    block = start(0, type="text", text="Hi")

    assert anthropic(block, block).text == "Hi"


def test_a_block_that_begins_twice_with_other_words_is_refused() -> None:
    with pytest.raises(InvalidReply, match="Block 0 of the reply began twice"):
        anthropic(start(0, type="tool_use", id="a", name="look"), start(0, type="tool_use", id="b", name="look"))


def test_a_fragment_without_an_index_belongs_to_the_last_block() -> None:
    reply = anthropic(
        start(0, type="text", text="a"), start(1, type="text", text="b"), fragment(None, "text_delta", text="c")
    )

    assert [block["text"] for block in native(reply)] == ["a", "bc"]


def test_arguments_without_an_index_belong_to_the_call_that_began_last() -> None:
    reply = anthropic(
        start(None, type="tool_use", id="a", name="look", input={}),
        fragment(None, "input_json_delta", partial_json='{"at": '),
        fragment(None, "input_json_delta", partial_json="1}"),
        start(None, type="tool_use", id="b", name="hear", input={}),
        fragment(None, "input_json_delta", partial_json='{"of": 2}'),
        why="tool_use",
    )

    assert [(call.name, call.args) for call in reply.calls] == [("look", {"at": 1}), ("hear", {"of": 2})]


@pytest.mark.parametrize("kind", ["text_delta", "thinking_delta"])
def test_an_empty_fragment_is_no_fragment_of_an_unknown_kind(kind: str) -> None:
    reply = anthropic(start(0, type="text", text="Hi"), fragment(0, kind, text="", thinking="", note="x"))

    assert native(reply) == [{"type": "text", "text": "Hi"}]


def test_a_fragment_of_an_unknown_kind_is_kept_for_the_echo() -> None:
    reply = anthropic(start(0, type="text", text="Hi"), fragment(0, "new_delta", seal="a", count=3, gone=None))

    assert native(reply) == [{"type": "text", "text": "Hi", "seal": "a", "count": 3}]


def test_a_pause_with_calls_asks_for_their_answers_first() -> None:
    reply = anthropic(start(0, type="tool_use", id="t1", name="look", input={}), why="pause_turn")

    assert (reply.stop_reason, reply.finish_reason) == ("tools", "pause_turn")
