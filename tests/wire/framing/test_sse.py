from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import ReplyTooLarge
from nbtool.wire.framing.sse import MAX_EVENT_BYTES, EventParser, ServerEvent


def parse(*pieces: bytes) -> list[ServerEvent]:
    parser = EventParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close()


def data(*pieces: bytes) -> list[bytes]:
    return [event.data for event in parse(*pieces)]


STREAM = (
    "\ufeff: hello\r\n\r\nevent: a\r\ndata: {\"t\": \"zwölf 🦉\"}\r\n\r\ndata:{\"n\": 1}\n\n"
    "data: one\rdata: two\r\rid: 7\nretry: 10\ndata: {\"x\":\"\u2028\"}\n\n: ping\n\nevent: b\ndata: last"
).encode()  # fmt: skip


def test_events_are_separated_by_blank_lines() -> None:
    assert data(b"data: one\n\ndata: two\n\n") == [b"one", b"two"]


def test_the_blank_after_the_colon_may_be_missing() -> None:
    assert data(b"data:one\n\ndata:  two\n\n") == [b"one", b" two"]


def test_an_event_has_the_name_of_its_event_line() -> None:
    assert parse(b"event: ping\ndata: {}\n\ndata: {}\n\n") == [(b"{}", "ping"), (b"{}", "")]


def test_the_data_line_may_be_before_the_event_line() -> None:
    assert parse(b"data: {}\nevent: done\n\n") == [(b"{}", "done")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_each_of_the_three_ways(end: bytes) -> None:
    assert data(end.join([b"data: a", b"", b"data: b", b"data: c", b"", b""])) == [b"a", b"b\nc"]


def test_a_byte_order_mark_is_dropped_also_in_pieces() -> None:
    assert data(b"\xef", b"\xbb", b"\xbfdata: x\n\n") == [b"x"]
    assert data(b"\xef\xbb\xbfdata: x") == [b"x"]


def test_several_data_lines_are_one_event() -> None:
    assert data(b'data: {\ndata: "a": 1\ndata: }\n\n') == [b'{\n"a": 1\n}']


def test_the_last_event_counts_without_a_blank_line() -> None:
    assert data(b"data: a\n\ndata: b") == [b"a", b"b"]
    assert data(b"data: a\n\ndata: b\n") == [b"a", b"b"]


def test_events_without_blank_lines_are_distinguished_where_each_is_json() -> None:
    assert data(b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n') == [b'{"a":1}', b'{"b":2}', b"[DONE]"]


def test_names_stay_with_their_events_where_blank_lines_are_missing() -> None:
    events = parse(b"event: a\ndata: {}\nevent: b\ndata: {}\n\n")

    assert events == [(b"{}", "a"), (b"{}", "b")]


def test_an_event_without_data_is_nothing() -> None:
    assert parse(b"event: a\n\ndata:\n\ndata: \n\nevent: b\ndata: \n\nid: 4\n\n") == []


def test_a_name_does_not_leak_into_the_next_event() -> None:
    assert parse(b"event: a\n\ndata: x\n\n") == [(b"x", "")]


def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    text = "data: a\u2028b\u0085c\x0bd\n\n".encode()

    assert data(text) == ["a\u2028b\u0085c\x0bd".encode()]


def test_comments_are_counted_and_give_no_event() -> None:
    parser = EventParser()

    events = parser.feed(b": OPENROUTER PROCESSING\n\n:\n\n")

    assert events == []
    assert parser.comments == 2


def test_unknown_fields_and_lines_without_a_colon_are_ignored() -> None:
    assert data(b"retry: 3\nfoo: bar\ndata\nnonsense\ndata: x\n\n") == [b"\nx"]


def test_the_events_do_not_depend_on_where_the_bytes_are_cut() -> None:
    whole = parse(STREAM)
    bytewise = parse(*(STREAM[i : i + 1] for i in range(len(STREAM))))
    in_two = [parse(STREAM[:i], STREAM[i:]) for i in range(len(STREAM))]

    assert [event.name for event in whole] == ["a", "", "", "", "b"]
    assert bytewise == whole
    assert all(events == whole for events in in_two)


WORDS = (b"data: ", b"data:", b"event: a", b"{}", b"x", b": c", b"\n", b"\r", b"\r\n", b"\xc3")


@given(st.lists(st.sampled_from(WORDS)))
def test_any_bytes_give_the_same_events_whole_and_bytewise(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)

    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == parse(stream)


def test_a_parser_can_be_copied_in_the_middle() -> None:
    parser = EventParser()
    parser.feed(b'event: a\ndata: {"x"')

    twin = copy.deepcopy(parser)

    assert twin.feed(b": 1}\n\n") == parser.feed(b": 1}\n\n") == [(b'{"x": 1}', "a")]


MEBIBYTE = b"x" * 2**20
MANY = MAX_EVENT_BYTES // 2**20 + 1
ENDLESS_LINE = [b"data: ", *[MEBIBYTE] * MANY]
LONG_LINE = [b"data: " + MEBIBYTE * MANY + b"\n\n"]
ENDLESS_EVENT = [b"data: " + MEBIBYTE + b"\n"] * MANY


@pytest.mark.parametrize("pieces", [ENDLESS_LINE, LONG_LINE, ENDLESS_EVENT])
def test_an_event_has_a_bound(pieces: list[bytes]) -> None:
    with pytest.raises(ReplyTooLarge, match="larger than"):
        parse(*pieces)


def test_many_small_events_are_not_over_the_bound() -> None:
    parser = EventParser()
    data = (b"data: " + MEBIBYTE + b"\n\n") * MANY

    events = parser.feed(data)
    events += [event for start in range(0, len(data), 4_000) for event in parser.feed(data[start : start + 4_000])]

    assert len(events) == 2 * MANY
