"""A stream of JSON in lines, without the framing of events, in every dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.errors import IncompleteReply, InvalidReply, ReplyTooLarge
from nbtool.wire import Reply, decode, find_wire
from nbtool.wire.framing.json_payloads import DONE, MAX_EVENTS, PayloadReader
from tests.cpu_time import check_growth
from tests.wire import chatting, geminis, responding
from tests.wire.reading import feed

CALL = chatting.chunk(chatting.call(0, "a", "f", '{"x":1}'))
CHAT = [chatting.chunk({"content": "Hi"}), CALL, chatting.chunk({}, "tool_calls")]
MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": []}
ITEM = {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": '{"x":1}', "status": "completed"}
STREAMS: dict[str, list[dict[str, Any]]] = {
    "chat": CHAT,
    "anthropic": [
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ],
    "responses": [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        responding.completed_event(ITEM),
    ],
    "gemini": [
        geminis.candidate({"text": "Hi"}),
        geminis.candidate({"functionCall": {"name": "f", "args": {"x": 1}}}, finishReason="STOP"),
    ],
}


def in_lines(values: list[Any], end: str = "\n") -> bytes:
    return "".join(json.dumps(value) + end for value in values).encode()


def summary(reply: Reply) -> tuple[str, list[Any], bool]:
    return reply.text, [(call.name, call.args) for call in reply.calls], reply.complete


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n \n"])
@pytest.mark.parametrize("dialect", STREAMS)
def test_a_document_in_each_line_is_a_stream(dialect: str, end: str) -> None:
    body = in_lines(STREAMS[dialect], end)

    for data in (body, body.rstrip()):
        assert summary(decode(dialect, data)) == ("Hi", [("f", {"x": 1})], True)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_lines_are_read_as_they_arrive(size: int) -> None:
    decoder, body = find_wire("chat").decoder(), in_lines(CHAT)
    end_of_second = body.index(b"\n", body.index(b"\n") + 1) + 1

    deltas = [
        delta
        for at in range(0, end_of_second, size)
        for delta in feed(decoder, body[at : min(at + size, end_of_second)])
    ]

    assert [delta.kind for delta in deltas] == ["text_delta", "call_delta"]


def test_the_end_mark_of_events_ends_lines_too() -> None:
    reader = PayloadReader()

    assert list(reader.feed(b'{"a": 1}\n[DONE]\n')) == [("", {"a": 1}), ("", DONE)]


def test_lines_that_are_cut_off_are_an_incomplete_reply_with_what_came() -> None:
    reply = decode("chat", in_lines(CHAT)[:-20])

    assert (reply.text, reply.complete) == ("Hi", False)
    assert not any(call.runnable for call in reply.calls)


def test_an_invalid_line_is_reported() -> None:
    with pytest.raises(InvalidReply, match="not JSON"):
        decode("chat", in_lines(CHAT[:1]) + b"nonsense\n" + in_lines(CHAT[1:]))


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_is_still_one(indent: int | None) -> None:
    message = {"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
    body = json.dumps(message, indent=indent).encode()

    for data in (body, body + b"\n", b"\n\n" + body + b"\r\n \n"):
        reader = PayloadReader()
        assert [*reader.feed(data), *reader.close()] == [("", message)]
        assert reader.is_document
    with pytest.raises(IncompleteReply):
        decode("chat", body[:-10])


@pytest.mark.parametrize(
    "stream",
    [
        lambda size: b'{"a": 1}' + b"\n" * size,
        lambda size: b'{"a":\n' + b"1\n" * size,
        lambda size: b'{"a": 1}\n' * (size // 9),
        lambda size: b'{"a": "' + b"x" * size,
    ],
    ids=["blank lines behind a document", "lines of one document", "documents", "one line"],
)
def test_the_time_is_linear_in_the_bytes(stream: Any) -> None:
    def read(size: int) -> None:
        reader, body = PayloadReader(), stream(size)
        for at in range(0, len(body), 16):
            list(reader.feed(body[at : at + 16]))

    check_growth(read, (20_000, 200_000), room=3)


@pytest.mark.sampled(0)
@pytest.mark.promise("bounded")
def test_more_lines_than_any_reply_has_are_refused() -> None:
    reader, at_once = PayloadReader(), 10_000
    count = sum(len(list(reader.feed(b"{}\n" * at_once))) for _ in range(MAX_EVENTS // at_once))

    with pytest.raises(ReplyTooLarge, match=f"{MAX_EVENTS:,}"):
        list(reader.feed(b"{}\n"))
    assert count == MAX_EVENTS
