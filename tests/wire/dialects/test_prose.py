from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import ProviderError
from nbtool.events import TextDelta, ThinkingDelta
from nbtool.wire import Reply, ReplyBuilder, decode
from nbtool.wire.dialects.prose_wire import text_wire
from nbtool.wire.dialects.think_tag_parser import ThinkTagParser
from nbtool.wire.prompted.prompted_wire import PromptedWire
from tests.wire.reading import close, feed, feed_with_error

WIRE = text_wire("chat")


def body(*deltas: dict[str, Any], finish: str = "stop") -> bytes:
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas] + [
        {"choices": [{"delta": {}, "finish_reason": finish}]}
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


def read(*deltas: dict[str, Any], wire: Any = WIRE, finish: str = "stop") -> Reply:
    decoder, builder = wire.decoder(), ReplyBuilder()
    for delta in (*feed(decoder, body(*deltas, finish=finish)), *close(decoder)):
        builder.add(delta)
    return builder.reply()


@pytest.mark.parametrize(
    "pieces", [["\n<think>Hm</think>\n\nHi"], list("\n<think>Hm</think>\n\nHi"), ["<th", "ink>Hm</", "think>Hi"]]
)
def test_tags_at_the_head_of_a_text_are_thinking(pieces: list[str]) -> None:
    reply = read(*({"content": piece} for piece in pieces))

    assert (reply.thinking, reply.text) == ("Hm", "Hi")
    assert reply.message.native is None


def test_a_recorded_body_is_read_as_its_fields_say() -> None:
    assert decode("chat", body({"content": "<think>Hm</think>Hi"})).text == "<think>Hm</think>Hi"


def test_thinking_that_is_never_closed_is_all_thinking() -> None:
    reply = read({"content": "<think>Hm </thi"}, finish="length")

    assert (reply.thinking, reply.text) == ("Hm </thi", "")


@pytest.mark.parametrize("text", ["a <think>b</think>", "</think> x", "<thinking>x", "  ", "<th", "<", " <think"])
def test_tags_anywhere_else_are_text_and_no_character_is_lost(text: str) -> None:
    reply = read(*({"content": letter} for letter in text))

    assert (reply.thinking, reply.text) == ("", text)


def test_tags_after_thinking_of_its_own_field_are_text() -> None:
    reply = read({"reasoning": "Hm"}, {"content": "<think>x</think>"})

    assert (reply.thinking, reply.text) == ("Hm", "<think>x</think>")


def test_a_call_written_inside_thinking_does_not_run() -> None:
    written = '```tool_call\n{"name": "f", "arguments": {}}\n```'
    reply = read({"content": f"<think>{written}</think>No."}, wire=PromptedWire(WIRE))

    assert (reply.calls, reply.text) == ((), "No.")


def test_an_error_comes_after_the_text_that_was_held_back() -> None:
    decoder = WIRE.decoder()
    held = feed(decoder, b'data: {"choices": [{"delta": {"content": "<thi"}}]}\n\n')
    given_back, error = feed_with_error(decoder, b'data: {"error": {"message": "broken"}}\n\n')

    assert held == []
    assert given_back == [TextDelta("<thi")]
    assert isinstance(error, ProviderError)


def test_a_decoder_can_be_copied_while_it_reads() -> None:
    decoder = WIRE.decoder()
    feed(decoder, b'data: {"choices": [{"delta": {"content": "<think>Hm"}}]}\n\n')
    twin = copy.deepcopy(decoder)
    rest = b'data: {"choices": [{"delta": {"content": "!</think>Hi"}, "finish_reason": "stop"}]}\n\n'

    assert feed(decoder, rest) == feed(twin, rest) == [ThinkingDelta("!"), TextDelta("Hi")]


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "/", "think", ">", " ", "\n", "a"]), max_size=12), st.data()
)
def test_tags_are_found_wherever_the_text_is_cut(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cut = data.draw(st.integers(0, len(text)))

    assert split_tags(text[:cut], text[cut:]) == split_tags(text)


def split_tags(*pieces: str) -> tuple[str, str]:
    tags = ThinkTagParser()
    found = [pair for piece in pieces for pair in tags.feed(piece)] + tags.flush()
    return "".join(text for inside, text in found if inside), "".join(text for inside, text in found if not inside)


def test_a_field_for_thinking_that_comes_after_a_tag_began_leaves_the_tag_to_its_end() -> None:
    tags = ThinkTagParser()
    inside = tags.feed("<think>Hm")
    tags.stop()

    assert inside == [(True, "Hm")]
    assert not tags.is_done
    assert tags.feed(".</think>Hi") == [(True, "."), (False, "Hi")]
