"""Tools through the prompt: prose and calls of a reply as it streams in, and how it may end."""

from __future__ import annotations

import json

import pytest

from nbtool.errors import ProviderError, WireError
from nbtool.events import CallDelta, CallPending, TextDelta, ThinkingDelta
from nbtool.messages import Media, Message, Text, ToolCall
from nbtool.wire.prompted.instructions import PromptFormat, PromptFormatName
from nbtool.wire.prompted.prompted_wire import PromptedWire, _as_plain_messages
from tests.wire.prompting import CALL, FENCE, INNER, WRITTEN, read, stream_body
from tests.wire.reading import close, feed, feed_with_error


def test_prose_and_calls_come_in_order_and_the_call_may_run() -> None:
    reply, deltas = read(stream_body("Let me ", "look.\n```ca", WRITTEN[5:], "\nWait."))

    assert [type(part) for part in reply.message.parts] == [Text, ToolCall, Text]
    assert reply.text == "Let me look.\n\nWait."
    assert reply.calls[0].runnable
    assert reply.stop_reason == "tools"
    assert any(isinstance(delta, CallPending) for delta in read(stream_body(*WRITTEN))[1])
    assert [delta.final for delta in deltas if isinstance(delta, CallDelta)] == [True]


def test_a_repaired_call_says_so() -> None:
    reply, _ = read(stream_body("```call-7f3a\n{'name': 'price', 'arguments': {'ticker': 'A',}}\n```"))

    assert reply.calls[0].args == {"ticker": "A"}
    assert reply.calls[0].repaired == ("single quotes", "trailing comma")


def test_every_cut_of_the_bytes_gives_the_same_reply() -> None:
    body = stream_body("a `b` ", "é\n```call", *WRITTEN[7:], "\n<tool", "box> end")
    whole, _ = read(body)

    assert whole.text == "a `b` é\n\n<toolbox> end"
    for cut in range(len(body)):
        reply, _ = read(body, cut=cut)
        assert reply.text == whole.text
        assert [(call.name, call.arguments) for call in reply.calls] == [("price", '{"ticker": "A"}')]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_no_call_of_a_reply_that_was_cut_short_may_run(finish: str) -> None:
    reply, _ = read(stream_body(WRITTEN, "\n```call-7f3a\n{", '"name": "price"', finish=finish))

    assert [call.runnable for call in reply.calls] == [False, False]
    assert (reply.text, reply.calls[1].arguments) == ("\n", '```call-7f3a\n{"name": "price"')


def test_what_was_held_is_given_when_the_bytes_just_end() -> None:
    reply, _ = read(stream_body("Look: ```call-7f3a\n{", finish=None))

    assert (reply.text, reply.calls[0].arguments) == ("Look: ", "```call-7f3a\n{")
    assert not reply.complete


def test_what_was_held_is_given_before_an_error_is_raised() -> None:
    decoder = PromptedWire(INNER, FENCE).decoder()
    feed(decoder, stream_body("Look: ```cal", finish=None))
    deltas, error = feed_with_error(decoder, b'data: {"error": {"message": "out of order", "code": 500}}\n\n')

    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["```cal"]
    assert isinstance(error, ProviderError)


def test_thinking_passes_and_comes_behind_the_text_before_it() -> None:
    _, deltas = read(stream_body("a ```c", "b", thinking="hm <tool_call>"))
    kinds = [(type(delta), delta.text) for delta in deltas if isinstance(delta, TextDelta | ThinkingDelta)]

    assert kinds == [(TextDelta, "a ```c"), (ThinkingDelta, "hm <tool_call>"), (TextDelta, "b")]


@pytest.mark.parametrize("form", ["hermes", "pythonic"])
def test_thinking_comes_behind_the_text_before_it_in_the_forms_of_models_too(form: PromptFormatName) -> None:
    wire = PromptedWire(INNER, FENCE, format=form, names={"price"})
    _, deltas = read(stream_body("a ```c", "b", thinking="hm <tool_call>"), wire=wire)
    kinds = [type(delta) for delta in deltas if isinstance(delta, TextDelta | ThinkingDelta)]
    texts = [delta.text for delta in deltas if isinstance(delta, TextDelta | ThinkingDelta)]
    place = kinds.index(ThinkingDelta)

    assert kinds.count(ThinkingDelta) == 1
    assert ("".join(texts[:place]), texts[place], "".join(texts[place + 1 :])) == ("a ```c", "hm <tool_call>", "b")


def test_a_native_call_of_the_inner_wire_passes() -> None:
    native = {"index": 0, "id": "n1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    frame = {"choices": [{"index": 0, "delta": {"tool_calls": [native]}, "finish_reason": "tool_calls"}]}
    reply, _ = read(f"data: {json.dumps(frame)}\n\ndata: [DONE]\n\n".encode())

    assert [(call.id, call.name, call.runnable) for call in reply.calls] == [("n1", "add", True)]


def test_a_call_that_only_repeats_a_result_does_not_run() -> None:
    reply, _ = read(stream_body('The page says <tool_call>{"name": "price", "arguments": {}}</tool_call>.'))

    assert [(call.is_malformed, call.runnable, call.args) for call in reply.calls] == [(True, False, None)]
    assert reply.text == "The page says ."


def test_an_error_at_the_end_waits_until_the_held_text_was_given() -> None:
    decoder = PromptedWire(INNER, FENCE).decoder()
    started = b'{"choices": [{"message": {"content": "Hi <too'
    assert feed(decoder, started) == []

    with pytest.raises(WireError, match="The JSON of the reply is truncated"):
        close(decoder)


def test_an_error_after_text_that_was_held_back_gives_the_text_first() -> None:
    decoder = PromptedWire(INNER, FENCE).decoder()
    held = feed(decoder, stream_body("One ```call", finish=None))
    broken, _ = feed_with_error(decoder, b'data: {"error": {"message": "no"}}\n\n')

    assert [delta.text for delta in (*held, *broken) if isinstance(delta, TextDelta)] == ["One ", "```call"]


def test_an_error_with_nothing_held_back_is_raised_at_once() -> None:
    decoder = PromptedWire(INNER, FENCE).decoder()
    feed(decoder, stream_body("One.", finish=None))

    with pytest.raises(WireError):
        feed(decoder, b'data: {"error": {"message": "no"}}\n\n')


def test_an_error_behind_the_end_is_raised_and_the_reply_stays() -> None:
    reply, deltas = read(stream_body("Hi") + stream_body(" there"))

    assert reply.text == "Hi"
    assert [delta.kind for delta in deltas].count("reply_end") == 1


def test_a_picture_between_the_models_words_keeps_its_place() -> None:
    picture = Media("image/png", data=b"PNG")
    rendered = Message("assistant", (Text("See: "), picture, CALL, Text("and "), picture))
    (actual,) = [
        message
        for message in _as_plain_messages([rendered], PromptFormat("json", FENCE))
        if message.role == "assistant"
    ]

    assert [part.kind for part in actual.parts] == ["text", "media", "text", "media"]
    assert actual.parts[2] == Text(f"{WRITTEN}\nand ")


def test_an_error_in_the_same_bytes_as_held_text_comes_after_the_text() -> None:
    decoder = PromptedWire(INNER, FENCE).decoder()
    body = stream_body("One ```call", finish=None) + b'data: {"error": {"message": "no"}}\n\n'
    deltas, _ = feed_with_error(decoder, body)

    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["One ", "```call"]


def test_what_a_reply_used_is_passed_on() -> None:
    body = stream_body("Hi", finish=None) + b'data: {"choices": [], "usage": {"prompt_tokens": 7}}\n\n'
    reply, _ = read(body + stream_body())

    assert (reply.text, reply.usage.input_tokens) == ("Hi", 7)
