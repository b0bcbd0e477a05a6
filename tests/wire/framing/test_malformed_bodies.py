"""Bodies that are cut, too large or not JSON: reported in one line, whatever the dialect."""

from __future__ import annotations

import gzip

import pytest

from nbtool import wire
from nbtool.errors import BadUsage, InvalidReply, ProviderError, ReplyTooLarge
from nbtool.events import ReplyEnd, TextDelta
from nbtool.messages import Text
from nbtool.wire import decode, find_wire
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES, MAX_EVENTS, PayloadReader
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from nbtool.wire.reply import ReplyBuilder
from tests.wire.reading import feed, feed_with_error
from tests.wire.streams import chat, chunk, lines

TALKING = sorted(set(WIRES) - set(MEDIA_KINDS))


def test_a_body_is_bytes() -> None:
    with pytest.raises(BadUsage, match="body must be bytes, not str"):
        decode("chat", "data: {}")  # type: ignore[arg-type]  # the mistake that is told


def test_a_module_says_which_name_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="no attribute 'parse_cals'"):
        wire.parse_cals  # noqa: B018 - asking is the test


def test_a_reply_that_grows_too_large_is_not_kept() -> None:
    decoder = find_wire("chat").decoder()
    event = b"data: {}" + b" " * (2**20 - 10) + b"\n\n"
    for _ in range(MAX_BODY_BYTES // len(event)):
        feed(decoder, event)

    with pytest.raises(ReplyTooLarge, match="The reply is larger than"):
        feed(decoder, b" ")


@pytest.mark.nightly
@pytest.mark.promise("bounded")
def test_a_reply_of_more_events_than_any_has_is_refused() -> None:
    reader = PayloadReader()
    event, at_once = b"data: 1\n\n", 10_000
    for _ in range(MAX_EVENTS // at_once):
        list(reader.feed(event * at_once))

    with pytest.raises(ReplyTooLarge, match=f"more than {MAX_EVENTS:,} events"):
        list(reader.feed(event))


def test_a_stream_that_ends_within_an_event_is_cut_and_not_broken() -> None:
    reply = decode("chat", lines(chunk({"content": "Hi"})) + b'data: {"choices": [{"del')

    assert (reply.text, reply.complete) == ("Hi", False)


def test_json_with_half_a_letter_is_read_with_the_letter_replaced() -> None:
    said = b'{"choices": [{"index": 0, "delta": {"content": "a\\ud800b"}, "finish_reason": null, "n": [true, null]}]}'

    assert chat(said).text == "a\ufffdb"


def test_json_that_nests_too_deep_is_no_json() -> None:
    with pytest.raises(InvalidReply, match="not JSON"):
        decode("chat", b'{"choices": "\\ud800", "a": ' + b"[" * 100_000, stream=True)
    with pytest.raises(InvalidReply, match="not JSON"):
        chat(b'{"b": "\\ud800", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_line_that_begins_and_ends_as_an_object_and_is_none_goes_on() -> None:
    text = b'data: {"choices": [{"index": 0,}\ndata: "delta": {}}]}\n\n'

    with pytest.raises(InvalidReply, match="not JSON"):
        decode("chat", text)


@pytest.mark.parametrize("data", [b"hello", b'{"choices": ]'])
def test_an_event_that_is_no_json_is_an_error(data: bytes) -> None:
    with pytest.raises(InvalidReply, match="not JSON"):
        chat(data, chunk({"content": "Hi"}))


def test_an_empty_first_fragment_makes_no_part() -> None:
    builder = ReplyBuilder(wire="chat")
    for delta in (TextDelta(""), TextDelta("Hi"), ReplyEnd("stop")):
        builder.add(delta)

    assert builder.reply().message.parts == (Text("Hi"),)


@pytest.mark.parametrize("dialect", TALKING)
@pytest.mark.parametrize(
    "body",
    [
        b'{"detail": "the model is asleep"}',
        b'{"object": "error", "message": "the model is asleep", "code": 40303}',
        b'[{"error": {"message": "the model is asleep"}}]',
        b'data: {"code": 500, "message": "the model is asleep"}\n\n',
        b"event: error\ndata: the model is asleep\n\n",
    ],
)
def test_an_error_without_its_usual_frame_is_reported_in_its_own_words(dialect: str, body: bytes) -> None:
    with pytest.raises(ProviderError, match="reported an error: the model is asleep"):
        decode(dialect, body)


@pytest.mark.parametrize("dialect", TALKING)
def test_an_empty_list_is_no_reply_and_no_error_of_the_provider(dialect: str) -> None:
    with pytest.raises(InvalidReply, match="The reply is JSON, but"):
        decode(dialect, b"[]", stream=False)


@pytest.mark.parametrize("dialect", TALKING)
def test_a_body_that_is_still_compressed_says_so(dialect: str) -> None:
    with pytest.raises(InvalidReply, match=r"compressed \(gzip\)"):
        decode(dialect, gzip.compress(b"data: {}\n\n"))


def test_what_came_before_an_event_that_is_no_json_is_kept() -> None:
    decoder = find_wire("chat").decoder()
    deltas, error = feed_with_error(
        decoder,
        lines(chunk({"content": "Hello"})) + b'data: {"choices": [{"ind\n\n' + lines(chunk({"content": " more"})),
    )

    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hello"]
    assert isinstance(error, InvalidReply)
    assert feed(decoder, lines(chunk({"content": " and more"}))) == []


def test_a_value_before_an_event_that_is_no_json_is_read_first() -> None:
    values = iter(PayloadReader().feed(b'data: {"a": 1}\n\ndata: {"b": \n\n'))

    assert next(values) == ("", {"a": 1})
    with pytest.raises(InvalidReply, match="An event of the stream is not JSON"):
        next(values)


@pytest.mark.parametrize("odd", [b"data: : OPENROUTER PROCESSING\n\n", b"data: :\n\n"])
def test_a_comment_that_a_gateway_passes_on_as_an_event_is_ignored(odd: bytes) -> None:
    reply = decode("chat", odd + lines(chunk({"content": "Hello"})) + odd + b"data: [done]\n\n")

    assert reply.text == "Hello"
    assert reply.complete


def test_the_name_of_a_field_that_a_gateway_repeats_is_no_part_of_the_data() -> None:
    doubled = lines(chunk({"content": "Hello"})).replace(b"data: ", b"data: data: ")
    reply = decode("chat", doubled + b"data: data: [DONE]\n\n")

    assert reply.text == "Hello"
    assert reply.complete
