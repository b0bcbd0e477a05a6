"""Arguments that are neither a text nor an object are refused, and never run as if there were none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.wire import Reply, decode
from tests.wire.chatting import call, chunk, read, whole
from tests.wire.geminis import candidate, end

ODD: list[Any] = [5, 0, 1.5, True, False, [1], [], "5", "[1]", "true", '"text"']


def events(dialect: str, *items: dict[str, Any]) -> Reply:
    return decode(
        dialect, b"".join(b"event: %s\ndata: %s\n\n" % (i["type"].encode(), json.dumps(i).encode()) for i in items)
    )


def chat_whole(odd: Any) -> Reply:
    return whole({"tool_calls": [{"id": "c", "function": {"name": "price", "arguments": odd}}]}, "tool_calls")


def chat_streamed(odd: Any) -> Reply:
    return read(chunk(call(call_id="c", name="price", arguments=odd)), chunk(finish="tool_calls"))


def chat_function_call(odd: Any) -> Reply:
    return read(chunk({"function_call": {"name": "price", "arguments": odd}}), chunk(finish="function_call"))


def chat_pieces(odd: Any) -> Reply:
    pieces = [call(call_id="c", name="price", arguments='{"n": 1'), call(arguments=odd), call(arguments="}")]
    return read(*map(chunk, pieces), chunk(finish="tool_calls"))


def chat_function_pieces(odd: Any) -> Reply:
    pieces = [{"function_call": {"name": "price", "arguments": '{"n": 1'}}, {"function_call": {"arguments": odd}}]
    return read(*map(chunk, pieces), chunk({"function_call": {"arguments": "}"}}), chunk(finish="function_call"))


def responses(*of_call: dict[str, Any], last: Any) -> Reply:
    item = {"type": "function_call", "id": "f", "call_id": "c", "name": "price", "arguments": ""}
    done = {**item, "arguments": last} if last is not ... else item
    return events(
        "responses",
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"output_index": 0, "item_id": "f", **one} for one in of_call),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {"status": "completed", "output": [done]}},
    )


def responses_whole(odd: Any) -> Reply:
    return responses(last=odd)


def responses_done(odd: Any) -> Reply:
    return responses({"type": "response.function_call_arguments.done", "arguments": odd}, last=...)


def responses_pieces(odd: Any) -> Reply:
    texts = ['{"n": 1', odd, "}"]
    return responses(*({"type": "response.function_call_arguments.delta", "delta": one} for one in texts), last=...)


def anthropic(block_input: Any, *pieces: Any) -> Reply:
    block = {"type": "tool_use", "id": "t", "name": "price", "input": block_input}
    deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces]
    return events(
        "anthropic",
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": one} for one in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    )


def gemini(**call: Any) -> Reply:
    part = {"functionCall": {"name": "price", "id": "g", **call}}
    return decode("gemini", b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in (candidate(part), end())))


WHOLE: dict[str, Callable[[Any], Reply]] = {
    "chat": chat_whole,
    "chat stream": chat_streamed,
    "chat function_call": chat_function_call,
    "responses": responses_whole,
    "responses done": responses_done,
    "anthropic": lambda odd: anthropic(odd),
    "anthropic delta": lambda odd: anthropic({}, odd),
    "gemini": lambda odd: gemini(args=odd),
    "gemini pieces": lambda odd: gemini(partialArgs=odd),
}

IN_PIECES: dict[str, Callable[[Any], Reply]] = {
    "chat": chat_pieces,
    "chat function_call": chat_function_pieces,
    "responses": responses_pieces,
    "anthropic": lambda odd: anthropic({}, '{"n": 1', odd, "}"),
}


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize("way", WHOLE)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_arguments_of_another_type_are_refused_in_every_dialect(way: str, odd: Any) -> None:
    if (way, odd) == ("gemini pieces", []):
        return  # a list without a piece is the form of no arguments

    (made,) = WHOLE[way](odd).calls

    assert not made.runnable
    assert made.args is None
    assert "The arguments are" in str(made.error)


scalars = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
json_values = st.recursive(
    scalars | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
no_texts = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.lists(json_values, max_size=3)
)


@pytest.mark.promise("strict-arguments")
@settings(max_examples=120)
@given(way=st.sampled_from(sorted(WHOLE)), odd=no_texts, is_text=st.booleans())
def test_arguments_of_any_type_but_an_object_are_refused(way: str, odd: Any, is_text: bool) -> None:
    if way == "gemini pieces" and isinstance(odd, list):
        return  # pieces are a list
    (made,) = WHOLE[way](json.dumps(odd) if is_text else odd).calls

    assert not made.runnable
    assert made.args is None
    assert "The arguments are" in str(made.error)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize("way", IN_PIECES)
@pytest.mark.parametrize("odd", [odd for odd in ODD if not isinstance(odd, str)], ids=repr)
def test_what_is_no_text_is_no_piece_of_arguments(way: str, odd: Any) -> None:
    (made,) = IN_PIECES[way](odd).calls

    assert not made.runnable


@pytest.mark.promise("strict-arguments")
@settings(max_examples=80)
@given(way=st.sampled_from(sorted(IN_PIECES)), odd=no_texts | st.dictionaries(st.text(max_size=3), json_values))
def test_a_piece_of_any_type_but_a_text_stops_the_call(way: str, odd: Any) -> None:
    (made,) = IN_PIECES[way](odd).calls

    assert not made.runnable


@pytest.mark.parametrize("way", WHOLE)
def test_null_means_no_arguments(way: str) -> None:
    (made,) = WHOLE[way](None).calls

    assert made.args == {}
    assert made.runnable


@pytest.mark.parametrize("way", [way for way in WHOLE if way != "gemini pieces"])
def test_an_object_that_is_encoded_twice_is_that_object_in_every_dialect(way: str) -> None:
    text = json.dumps({"n": 'a "b"'})
    (made,) = WHOLE[way](text if way == "gemini" else json.dumps(text)).calls  # Gemini has objects there, and no texts

    assert made.args == {"n": 'a "b"'}
    assert made.arguments == text
    assert made.runnable


@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize("text", ['"{"', '"{}"', '"{} {}"', '"{\\"n\\": NaN}"', '"\\"{}\\""', '"[{}]"'])
def test_a_text_that_holds_no_object_stays_refused(text: str) -> None:
    (made,) = chat_whole(text).calls

    assert not made.runnable
    assert made.arguments == text
