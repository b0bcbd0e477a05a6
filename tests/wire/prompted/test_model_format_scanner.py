from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.wire.prompted.call_buffer import MAX_CALL_CHARS
from nbtool.wire.prompted.instructions import PromptFormat
from nbtool.wire.prompted.model_format_scanner import Scanner
from nbtool.wire.prompted.model_formats import DELIMITERS, Delimiter
from nbtool.wire.prompted.segments import CallSegment, PendingSegment, TextSegment, merge_text

CALL = '<tool_call>{"name": "price", "arguments": {"ticker": "A"}}</tool_call>'
FENCED = '```call-7f3a\n{"name": "price", "arguments": {"ticker": "B"}}\n```'
TEXTS = [
    "",
    "Just prose, with a < b and <b>bold</b> and `code`.",
    f"Let me look. {CALL} One moment.",
    f"{CALL}\n{CALL}",
    f"One:\n{FENCED}\ntwo:\n{FENCED}\nend",
    '<tool_call>\n{"name": "write", "arguments": {"text": "a </tool_call> in a string, \\"quoted\\""}}\n</tool_call>',
    '<tool_call>{"name": "f", "arguments": {"a": "}{"}}\n{"name": "g", "args": {}}</tool_call>',
    '<tool_call>{"name": "f", "arguments": {"a": "never ended}}</tool_call> then ' + CALL,
    '<tool_call>{"name": "f", "arguments": {"a": 1}}\n<tool_call>{"name": "g", "arguments": {"a": 2}}',
    '<tool_call>{"name": "f", "arguments": {"a": 1',
    "<tool_call>no call</tool_call> and <tool_cal and <<tool_call>",
    f"For example:\n```xml\n{CALL}\n```\nthat is how.",
    f"```\n{CALL}\n```",
    f"<think>I could {CALL} but</think>No. {CALL}",
    f"Write `{CALL}` to call.",
    f"{CALL}\n<tool_result>42</tool_result>\n{CALL}",
    '{"tool_name": "price", "parameters": {"ticker": "A"}}',
    '{"price": 3, "name": "no call"}',
    '[price(ticker="A"), price(ticker="B")]',
    "[1] says so.",
    '```json\n{"name": "f", "arguments": {}}\n```\n',
    "```python\nprint(1)\n```",
    '<function=price>{"ticker": "A"}</function> <function=f>\n<parameter=a>\n1\n</parameter>\n</function>',
    '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]',
    '<|python_tag|>{"name": "f", "parameters": {}}',
    'Done.<|tool_call|>[{"name": "f", "arguments": {"a": "\u00e9\U0001f600"}}]',
]
SETTINGS: list[tuple[Sequence[Delimiter], bool]] = [
    (DELIMITERS, False),
    (DELIMITERS, True),
    (PromptFormat("json", "7f3a").delimiters, False),
]


def scan(pieces: Iterable[str], *, complete: bool = True, **options: Any) -> list[TextSegment | CallSegment]:
    scanner = Scanner(**options)
    found: list[TextSegment | CallSegment] = []
    for piece in pieces:
        found += [out for out in scanner.feed(piece) if not isinstance(out, PendingSegment)]
    return merge_text([*found, *scanner.close(complete=complete)])


def whole(found: Iterable[TextSegment | CallSegment]) -> str:
    return "".join(piece.text if isinstance(piece, TextSegment) else piece.source for piece in found)


def calls(found: Iterable[TextSegment | CallSegment]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.args) for piece in found if isinstance(piece, CallSegment) for call in piece.calls]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("marks", "bare"), SETTINGS)
def test_every_cut_in_two_gives_the_same(text: str, marks: Sequence[Delimiter], bare: bool) -> None:
    expected = scan([text], delimiters=marks, allow_undelimited=bare)

    assert whole(expected) == text
    for cut in range(len(text) + 1):
        assert scan([text[:cut], text[cut:]], delimiters=marks, allow_undelimited=bare) == expected


@given(
    parts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    setting=st.sampled_from(SETTINGS),
    shares=st.lists(st.floats(0, 1), max_size=4),
)
def test_every_cut_gives_the_same_with_all_marks_of_calls(
    parts: list[str], setting: tuple[Sequence[Delimiter], bool], shares: list[float]
) -> None:
    text, (marks, bare) = "".join(parts), setting
    cut_at = [0, *sorted(int(share * len(text)) for share in shares), len(text)]
    expected = scan([text], delimiters=marks, allow_undelimited=bare)

    assert whole(expected) == text
    pieces = [text[begin:end] for begin, end in pairwise(cut_at)]
    assert scan(pieces, delimiters=marks, allow_undelimited=bare) == expected


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("complete", [True, False])
def test_character_by_character_gives_the_same(text: str, complete: bool) -> None:
    assert scan(text, complete=complete, allow_undelimited=True) == scan(
        [text], complete=complete, allow_undelimited=True
    )


@given(
    st.lists(st.sampled_from([*TEXTS, "<", "tool_call>", "</", "`", "```", "\n", '"', "{", "}", "'", "\\"])), st.data()
)
def test_any_mixture_cut_anywhere_gives_the_same_and_loses_nothing(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    expected = scan([text], allow_undelimited=True)

    assert whole(expected) == text
    assert scan(pieces, allow_undelimited=True) == expected


def test_calls_and_prose_keep_their_order() -> None:
    found = scan([f"a {CALL} b {CALL} c"])

    assert [type(piece) for piece in found] == [TextSegment, CallSegment, TextSegment, CallSegment, TextSegment]
    assert calls(found) == [("price", {"ticker": "A"})] * 2


def test_a_mark_inside_a_string_does_not_end_the_call() -> None:
    arguments = {"text": "</tool_call>", "more": "<tool_call>"}
    text = f"<tool_call>{json.dumps({'name': 'f', 'arguments': arguments})}</tool_call>"

    assert calls(scan(text)) == [("f", arguments)]


def test_a_string_without_end_gives_way_to_the_first_closing_mark() -> None:
    found = scan(['<tool_call>{"name": "f", "arguments": {"a": "x}}</tool_call> ' + CALL])

    assert calls(found) == [("price", {"ticker": "A"})]
    assert found[0] == TextSegment('<tool_call>{"name": "f", "arguments": {"a": "x}}</tool_call> ')


def test_a_missing_closing_mark_is_named_among_the_repairs() -> None:
    found = scan(['<tool_call>{"name": "f", "arguments": {}}'])

    assert isinstance(found[0], CallSegment)
    assert found[0].calls[0].repairs == ("closing tag",)


def test_a_reply_that_was_cut_short_makes_no_call_of_its_end() -> None:
    text = CALL + '<tool_call>{"name": "f", "arguments": {}}'

    assert calls(scan([text], complete=False)) == [("price", {"ticker": "A"})]
    assert calls(scan(['{"name": "f", "arguments": {}}'], complete=False, allow_undelimited=True)) == []


def test_brackets_that_lack_at_a_cut_are_not_added() -> None:
    cut = scan(['<tool_call>{"name": "f", "arguments": {"a": 1}'])
    closed = scan(['<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>'])

    assert calls(cut) == []
    assert calls(closed) == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "text",
    [
        f"Look:\n```\n{CALL}\n```\n",
        f"<think>{CALL}</think>fine",
        f"the tag `{CALL}`",
        f"It said.\n<tool_result>1</tool_result>{CALL}",
    ],
)
def test_a_call_that_is_only_shown_stays_text(text: str) -> None:
    assert scan([text]) == [TextSegment(text)]


def test_with_a_fence_word_nothing_else_opens_a_call() -> None:
    marks = PromptFormat("json", "7f3a").delimiters
    found = scan([f"{CALL}\n{FENCED}\n```call-0000\n{{}}\n```"], delimiters=marks)

    assert calls(found) == [("price", {"ticker": "B"})]
    assert found[0] == TextSegment(f"{CALL}\n")


def test_an_unknown_name_stays_text_or_is_reported_and_a_near_one_is_named() -> None:
    assert calls(scan([CALL], names=["cost"])) == []
    assert calls(scan([CALL], names=["cost"], reports_malformed=True)) == [("price", {"ticker": "A"})]
    near = scan(['<tool_call>{"name": "functions.Get-Price", "arguments": {}}</tool_call>'], names=["get_price"])
    assert isinstance(near[0], CallSegment)
    assert (near[0].calls[0].name, near[0].calls[0].repairs) == ("get_price", ("name",))


def test_only_what_may_become_a_mark_is_held_back() -> None:
    scanner = Scanner()

    assert scanner.feed("a < b <tool") == [TextSegment("a < b ")]
    assert scanner.feed("box>") == [TextSegment("<toolbox>")]


def test_a_call_in_the_making_says_how_long_it_is() -> None:
    scanner = Scanner()
    scanner.feed('<tool_call>{"name": "f", ')
    found = scanner.feed('"arguments": {"a": "' + "x" * 100)

    assert len(found) == 1
    assert isinstance(found[0], PendingSegment)
    assert found[0].size >= 100


@pytest.mark.parametrize("opening", ["<tool_call>{", '{"name":'])
def test_a_call_that_grows_too_long_is_released_as_text(opening: str) -> None:
    text = opening + "x" * (MAX_CALL_CHARS + 10)
    scanner = Scanner(allow_undelimited=True)
    found = [piece for start in range(0, len(text), 65_536) for piece in scanner.feed(text[start : start + 65_536])]
    released = "".join(piece.text for piece in found if isinstance(piece, TextSegment))

    assert released.startswith(opening)
    assert (
        whole(merge_text([*(piece for piece in found if not isinstance(piece, PendingSegment)), *scanner.close()]))
        == text
    )


def test_held_prose_is_given_before_something_else_comes() -> None:
    scanner = Scanner()
    scanner.feed("a <tool")

    assert scanner.flush() == [TextSegment("<tool")]


def test_a_scanner_can_be_copied_in_the_middle_of_a_call() -> None:
    scanner = Scanner()
    scanner.feed(CALL[:30])
    twin = copy.deepcopy(scanner)

    assert [*scanner.feed(CALL[30:]), *scanner.close()] == [*twin.feed(CALL[30:]), *twin.close()]
