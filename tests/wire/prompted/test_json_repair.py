from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import InvalidArguments
from nbtool.wire import parse_calls
from nbtool.wire.prompted.json_repair import MAX_DEPTH, MAX_LENGTH, parse_object, parse_value
from nbtool.wire.prompted.json_tokens import find_end, split_values, tokens
from tests.cpu_time import check_growth

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@given(OBJECTS)
def test_complete_json_is_read_without_a_repair(value: dict[str, Any]) -> None:
    parsed = parse_object(json.dumps(value))

    assert parsed.value == value
    assert parsed.repairs == ()


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": 1,}', {"a": 1}, ("trailing comma",)),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, ("trailing comma",)),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, ("double comma",)),
        ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}, ("single quotes", "escape")),
        ("{“a”: “b”}", {"a": "b"}, ("smart quotes",)),
        ('{"a": True, "b": None}', {"a": True, "b": None}, ("constant",)),
        ('{"a": undefined}', {"a": None}, ("constant",)),
        ('{a: 1, b_2: "x"}', {"a": 1, "b_2": "x"}, ("unquoted key",)),
        ('{"a": 1, // one\n "b": 2 # two\n}', {"a": 1, "b": 2}, ("comment",)),
        ('{"a": /* one */ 1}', {"a": 1}, ("comment",)),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, ("control character",)),
        ('```json\n{"a": 1}\n```', {"a": 1}, ("code fence",)),
        ('<tool_call>{"a": 1}</tool_call>', {"a": 1}, ("tag residue",)),
        ('{"a": 1}</tool_call>', {"a": 1}, ("tag residue",)),
        ('<tool_call>{"a": 1}', {"a": 1}, ("tag residue",)),
        ('\ufeff\u200b{"a": 1}', {"a": 1}, ("invisible characters",)),
        ('{"a": 1}}', {"a": 1}, ("extra closer",)),
        ('"{\\"a\\": 1}"', {"a": 1}, ("decoded twice",)),
        ('{"a": (1, 2), "b": [(3, 4)]}', {"a": [1, 2], "b": [[3, 4]]}, ("tuple",)),
        ('{"a": .5, "b": 2.}', {"a": 0.5, "b": 2.0}, ("number",)),
        ('{"a": "\\d+"}', {"a": "\\d+"}, ("escape",)),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, ("json-repair",)),
        ('{"a": "say "hi" now"}', {"a": 'say "hi" now'}, ("json-repair",)),
    ],
)
def test_each_defect_is_repaired_and_named(text: str, value: dict[str, Any], repairs: tuple[str, ...]) -> None:
    parsed = parse_object(text)

    assert parsed.value == value
    assert parsed.repairs == repairs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a word",
        "[1, 2]",
        '"text"',
        '{"a": 5 * 5}',
        '{"a": 1/6}',
        '{"a": 10-5}',
        '{"a": "x" + "y"}',
        '{"a": "x".upper()}',
        '{"a": name}',
        '{"a": rows["b"]}',
        '{"a": f(1)}',
        '{"a": (1)}',
        '{"a": <year>}',
        '{"a": NaN}',
        '{"a": 012}',
        '{"a": ...}',
        '{"a": [1, 2}',
        '{"a": {"b": 1}]}',
        '{"a": "b": "c"}',
        '{"a": 1}{"b": 2}',
        '{"a": 1} and more',
        '{"a": "cut of',
        "{'a': 'Schindler's list'}",
        '{"a": tru',
        '{"a":',
        '{"a": 1,',
        '{"a"}',
    ],
)
def test_what_has_two_meanings_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments):
        parse_object(text)


def test_a_list_that_was_encoded_twice_is_decoded_twice() -> None:
    parsed = parse_value('" [{\\"a\\": 1}]"')

    assert (parsed.value, parsed.repairs) == ([{"a": 1}], ("decoded twice",))


def test_closers_are_added_only_where_the_object_is_known_to_have_ended() -> None:
    text = '{"a": [1, {"b": "c"'

    with pytest.raises(InvalidArguments, match="cut off"):
        parse_object(text)
    parsed = parse_object(text, is_closed=True)
    assert parsed.value == {"a": [1, {"b": "c"}]}
    assert parsed.repairs == ("missing closer",)
    with pytest.raises(InvalidArguments):
        parse_object('{"a": {"b": "c', is_closed=True)


def test_a_message_says_what_was_expected_and_what_came() -> None:
    with pytest.raises(InvalidArguments, match=r"A value is expected; 'price' is none\."):
        parse_object('{"a": price}')


@pytest.mark.parametrize("text", ['{"a": 1e999}', "{a: -1e999,}", '{"a": [{"b": 1e400}]}'])
def test_a_number_that_cannot_be_sent_back_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="out of range"):
        parse_object(text)


@given(OBJECTS, st.data())
def test_an_object_cut_inside_a_string_never_looks_whole(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps({**value, "last": "some longer text"})
    start = text.rindex('"some')
    cut = data.draw(st.integers(start + 1, len(text) - 3))

    with pytest.raises(InvalidArguments):
        parse_object(text[:cut])


@given(st.text(alphabet="{}[]:,\"'\\ab1 \n/*#()`<>|", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = parse_object(text).value
    except InvalidArguments:
        return

    assert isinstance(value, dict)


def test_the_bounds_are_reported() -> None:
    with pytest.raises(InvalidArguments, match=f"at most {MAX_LENGTH}"):
        parse_object('{"a": "' + "x" * MAX_LENGTH + '"}')
    with pytest.raises(InvalidArguments, match=f"deeper than {MAX_DEPTH}"):
        parse_object('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1))
    assert parse_object('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH).repairs == ()


@pytest.mark.parametrize("opener", ["{", "```", "```{"])
@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "[",
        '"',
        "'",
        '{"',
        '{"a":',
        "{'\"",
        "/*",
        "\\",
        '"a" ',
        '{"a":1}',
        "a ",
        "a",
        " ",
        "<a>",
        "```",
        "}",
        '["a" b ',
    ],
)
def test_hostile_text_takes_time_in_proportion(opener: str, piece: str) -> None:
    assert_in_proportion(lambda size: parse_object(opener + piece * (size // len(piece))))


@pytest.mark.parametrize("piece", [" ", "\n", "</s>", "``` ", "<tool_call>", '{"a": '])
def test_hostile_text_between_marks_takes_time_in_proportion(piece: str) -> None:
    assert_in_proportion(lambda size: parse_calls('<tool_call>{"a":' + piece * (size // len(piece)) + "1}</tool_call>"))


def assert_in_proportion(read: Callable[[int], object]) -> None:
    """Read a text of so many characters and one that is four times as long."""

    def try_to_read(size: int) -> None:
        with suppress(InvalidArguments):
            read(size)

    check_growth(try_to_read, (10_000, 40_000), room=3, floor=0.01)


def test_an_unknown_escape_makes_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parsed = parse_object("{'a': '\\_'}")

    assert parsed.value == {"a": "\\_"}


@given(st.text(alphabet="{}[]:,\"'\\a1. \n/*#“”", max_size=80))
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(token.text for token in tokens(text)) == text


def test_values_in_a_row_are_split_and_prose_is_not() -> None:
    assert split_values('{"a": "}"} {"b": [1]},\n[2]') == ['{"a": "}"}', '{"b": [1]}', "[2]"]
    assert split_values('{"a": 1} and {"b": 2}') is None
    assert split_values('{"a": 1') == ['{"a": 1']
    assert find_end('x{"a": "\\"}"}y', 1) == len('x{"a": "\\"}"}')


def test_a_text_on_which_the_library_fails_is_refused_like_any_other() -> None:
    with pytest.raises(InvalidArguments, match="cannot be repaired"):
        parse_object('[{"```json\n{{[\'a```json\n{"/*()x|y"//é`$”b1a“```json\n$``{__class__[0]\\u\'.', is_closed=True)
