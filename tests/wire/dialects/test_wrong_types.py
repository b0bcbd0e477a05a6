"""Junk in a stream is an error that says so; no call runs from a reply that lost a part."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import InvalidReply
from nbtool.wire import decode
from tests.chaos import DONE, head, serve_each
from tests.wire.chatting import call, chunk
from tests.wire.geminis import candidate
from tests.wire.responding import CALL_ITEM, completed_event

JUNK = [[1], 5, "x", None, True, 1.5, [], [{}]]


def lines(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def opened(arguments: str = "") -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": arguments}


def part(text: Any) -> dict[str, Any]:
    return {
        "type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text},
    }  # fmt: skip


USE = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "wipe"}}
STARTED = {"type": "message_start", "message": {"id": "m", "content": []}}
STREAMS: dict[str, list[Any]] = {
    "chat": [
        chunk(call(0, "c1", "wipe", '{"a": ')), chunk(call(0, None, None, "1}")), chunk({}, "tool_calls"),
    ],
    "responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": {**CALL_ITEM, "arguments": ""}},
        opened('{"a": '), opened("1}"), completed_event({**CALL_ITEM, "arguments": '{"a": 1}'}),
    ],
    "anthropic": [
        STARTED, USE, part('{"a": '), part("1}"), {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ],
    "gemini": [
        candidate({"functionCall": {"name": "wipe", "partialArgs": [{"jsonPath": "$.a", "numberValue": 1}],
                                    "willContinue": True}}),
        candidate({"functionCall": {}}, finishReason="STOP"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("wire", STREAMS)
def test_the_calls_of_these_streams_run_without_junk(wire: str) -> None:
    (made,) = decode(wire, lines(*STREAMS[wire])).calls

    assert (made.runnable, made.args) == (True, {"a": 1})


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize("junk", JUNK, ids=repr)
@pytest.mark.parametrize("wire", STREAMS)
def test_an_event_that_is_no_object_is_an_error(wire: str, junk: Any) -> None:
    values = STREAMS[wire]
    for at in range(1, len(values)):
        with pytest.raises(InvalidReply, match=r"An event of the reply is .*, which the dialect does not have there"):
            decode(wire, lines(*values[:at], junk, *values[at:]))


@pytest.mark.parametrize("data", [b"words", b"[1", b"nul", b"12 monkeys"])
@pytest.mark.parametrize("wire", STREAMS)
def test_an_event_that_is_no_json_is_an_error(wire: str, data: bytes) -> None:
    first, *others = STREAMS[wire]

    with pytest.raises(InvalidReply, match="An event of the stream is not JSON"):
        decode(wire, lines(first) + b"data: " + data + b"\n\n" + lines(*others))


WRONG: dict[str, tuple[str, Callable[[Any], Any], list[Any]]] = {
    "a choice": ("chat", lambda junk: {"choices": [junk]}, [[1], 5, "x", None]),
    "choices": ("chat", lambda junk: {"choices": junk}, [5, "x", {"a": 1}]),
    "a delta": ("chat", lambda junk: {"choices": [{"delta": junk}]}, [[1], 5, "x"]),
    "calls": ("chat", lambda junk: chunk({"tool_calls": junk}), [5, "x", {"a": 1}]),
    "a call": ("chat", lambda junk: chunk({"tool_calls": [junk]}), [[1], 5, "x", None]),
    "calls of a message": (
        "chat", lambda junk: {"choices": [{"message": {"tool_calls": [junk]}, "finish_reason": "stop"}]}, [5, None],
    ),
    "a function": ("chat", lambda junk: chunk({"tool_calls": [{"index": 0, "function": junk}]}), [[1], 5, "x"]),
    "an older function": ("chat", lambda junk: chunk({"function_call": junk}), [[1], 5, "x"]),
    "an item": ("responses", lambda junk: {"type": "response.output_item.done", "item": junk}, [[1], 5, "x", None]),
    "a new item": ("responses", lambda junk: {"type": "response.output_item.added", "item": junk}, [[1], 5, None]),
    "items at the end": ("responses", completed_event, [5, "x", None]),
    "a content block": ("anthropic", lambda junk: {"type": "content_block_start", "content_block": junk}, [[1], None]),
    "a change of a block": ("anthropic", lambda junk: {"type": "content_block_delta", "delta": junk}, [[1], 5, None]),
    "a candidate": ("gemini", lambda junk: {"candidates": [junk]}, [[1], 5, "x", None]),
    "a part": ("gemini", candidate, [[1], 5, "x", None]),
    "a call of Gemini": ("gemini", lambda junk: candidate({"functionCall": junk}), [[1], 5, "x", None]),
}  # fmt: skip


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize("place", WRONG)
def test_a_value_of_another_type_amid_a_call_is_an_error(place: str) -> None:
    wire, build, values = WRONG[place]
    *first, last = STREAMS[wire]
    for junk in values:
        with pytest.raises(InvalidReply, match="which the dialect does not have there"):
            decode(wire, lines(*first, build(junk), last))


def test_the_first_blocks_of_a_message_are_objects() -> None:
    beginning = {"type": "message_start", "message": {"id": "m", "content": ["Hi", 7]}}

    with pytest.raises(InvalidReply):
        decode("anthropic", lines(beginning, *STREAMS["anthropic"][1:]))


@pytest.mark.promise("positive-end")
def test_no_tool_runs_from_a_stream_with_junk() -> None:
    ran: list[int] = []

    @tool(run="auto")
    def wipe(a: int) -> str:
        "Wipe the disk."
        ran.append(a)
        return "wiped"

    first, *others = STREAMS["chat"]
    with serve_each([head(), lines(first, [1]), lines(*others), DONE]) as server:
        turn = Chat("openai:m", base_url=server.url, api_key="k", wire="chat", tools=[wipe]).send("Hi")

    assert (turn.status, ran) == ("error", [])
    assert "An event of the reply is [1], which the dialect does not have there." in str(turn.error)
