"""Prose and calls of a streamed text in every format: the same however it is cut, and nothing is lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.wire import parse_calls
from nbtool.wire.prompted.instructions import PromptFormat
from nbtool.wire.prompted.model_formats import DELIMITERS
from nbtool.wire.prompted.reading import RunningForms
from nbtool.wire.prompted.segments import CallSegment, MalformedSegment, PendingSegment, Piece, TextSegment, merge_text
from nbtool.wire.prompted.text_scanner import MAX_HELD, MAX_QUOTED_CLOSERS, TextScanner

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
MARKED = RunningForms(marks=DELIMITERS)
FORMATS = {
    "json": PromptFormat("json", "7f3a"),
    "json without a word": PromptFormat("json"),
    "hermes": PromptFormat("hermes", "7f3a"),
    "pythonic": PromptFormat("pythonic", "7f3a"),
}


def scan(
    pieces: Iterable[str], *, runs: RunningForms = MARKED, names: Any = None, complete: bool = True
) -> list[Piece]:
    scanner = TextScanner(runs, names)
    found: list[Piece] = []
    for piece in pieces:
        found += [out for out in scanner.feed(piece) if not isinstance(out, PendingSegment)]
    return merge_text([*found, *scanner.close(complete=complete)])


def whole(found: Iterable[Piece]) -> str:
    return "".join(piece.text if isinstance(piece, TextSegment) else piece.source for piece in found)


def calls(found: Iterable[Piece]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.args) for piece in found if isinstance(piece, CallSegment) for call in piece.calls]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("form", FORMATS)
def test_every_cut_in_two_gives_the_same(text: str, form: str) -> None:
    runs = FORMATS[form].runs
    expected = scan([text], runs=runs)

    assert whole(expected) == text
    for cut in range(len(text) + 1):
        assert scan([text[:cut], text[cut:]], runs=runs) == expected


@given(
    parts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    form=st.sampled_from(sorted(FORMATS)),
    shares=st.lists(st.floats(0, 1), max_size=4),
)
def test_every_cut_gives_the_same_with_all_marks_of_calls(parts: list[str], form: str, shares: list[float]) -> None:
    text, runs = "".join(parts), FORMATS[form].runs
    cut_at = [0, *sorted(int(share * len(text)) for share in shares), len(text)]
    expected = scan([text], runs=runs)

    assert whole(expected) == text
    pieces = [text[begin:end] for begin, end in pairwise(cut_at)]
    assert scan(pieces, runs=runs) == expected


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("complete", [True, False])
def test_character_by_character_gives_the_same(text: str, complete: bool) -> None:
    for form in FORMATS.values():
        assert scan(text, complete=complete, runs=form.runs) == scan([text], complete=complete, runs=form.runs)


@given(
    parts=st.lists(st.sampled_from([*TEXTS, "<", "tool_call>", "</", "`", "```", "\n", '"', "{", "}", "'", "\\"])),
    form=st.sampled_from(sorted(FORMATS)),
    data=st.data(),
)
def test_any_mixture_cut_anywhere_gives_the_same_and_loses_nothing(
    parts: list[str], form: str, data: st.DataObject
) -> None:
    text, runs = "".join(parts), FORMATS[form].runs
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    expected = scan([text], runs=runs)

    assert whole(expected) == text
    assert scan(pieces, runs=runs) == expected


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
    assert found[:2] == [
        MalformedSegment('<tool_call>{"name": "f", "arguments": {"a": "x}}</tool_call>', "unreadable"),
        TextSegment(" "),
    ]


def test_a_missing_closing_mark_is_named_among_the_repairs_where_another_call_follows() -> None:
    found = scan(['<tool_call>{"name": "f", "arguments": {}}\n' + CALL])

    assert [call.repairs for piece in found if isinstance(piece, CallSegment) for call in piece.calls] == [
        ("closing tag",),
        (),
    ]
    assert parse_calls('<tool_call>{"name": "f", "arguments": {}}').calls[0].repaired == ("closing tag",)


def test_a_reply_that_was_cut_short_makes_no_call_of_its_end() -> None:
    text = CALL + '<tool_call>{"name": "f", "arguments": {}}'
    bare = FORMATS["pythonic"].runs

    assert calls(scan([text], complete=False)) == [("price", {"ticker": "A"})]
    assert calls(scan(['{"name": "f", "arguments": {}}'], complete=False, runs=bare)) == []


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
def test_a_call_that_is_only_shown_does_not_run(text: str) -> None:
    assert calls(scan([text])) == []
    assert whole(scan([text])) == text
    assert (parse_calls(text).calls, parse_calls(text).text) == ((), text)


def test_with_a_fence_word_nothing_else_opens_a_call() -> None:
    found = scan([f"{CALL}\n{FENCED}\n```call-0000\n{{}}\n```"], runs=FORMATS["json"].runs)

    assert calls(found) == [("price", {"ticker": "B"})]
    assert found[:2] == [MalformedSegment(CALL, "other_form", "price"), TextSegment("\n")]


def test_an_unknown_name_is_no_call_of_a_text_and_one_of_a_reply_whose_result_lists_the_tools() -> None:
    assert parse_calls(CALL, ["cost"]).calls == ()
    assert calls(scan([CALL], names=["cost"])) == [("price", {"ticker": "A"})]
    near = scan(['<tool_call>{"name": "functions.Get-Price", "arguments": {}}</tool_call>'], names=["get_price"])
    assert isinstance(near[0], CallSegment)
    assert (near[0].calls[0].name, near[0].calls[0].repairs) == ("get_price", ("name",))


def test_a_name_without_arguments_runs_only_of_a_known_tool() -> None:
    text = '<tool_call>{"name": "now"}</tool_call>'

    assert calls(scan([text], names=["now"])) == [("now", {})]
    assert parse_calls(text).calls == ()
    assert scan([text.replace("tool_call>", "call-7f3a>")], runs=FORMATS["json"].runs, names=["then"]) == [
        MalformedSegment(text.replace("tool_call>", "call-7f3a>"), "unreadable")
    ]


def test_only_what_may_become_a_mark_is_held_back() -> None:
    scanner = TextScanner(MARKED)

    assert scanner.feed("One and <tool") == [TextSegment("One and ")]
    assert scanner.feed("box>\n") == [PendingSegment(10)]
    assert scanner.close() == [TextSegment("<toolbox>\n")]


def test_what_is_behind_a_call_streams() -> None:
    scanner = TextScanner(MARKED, ["price"])
    found = [*scanner.feed(CALL[:20]), *scanner.feed(CALL[20:] + " One ")]

    assert [type(piece) for piece in found] == [PendingSegment, CallSegment, TextSegment]
    assert scanner.feed("moment, ") == [TextSegment("moment, ")]
    assert [type(piece) for piece in scanner.feed(f"and another:\n{CALL}")] == [TextSegment, CallSegment]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("count", [MAX_QUOTED_CLOSERS, MAX_QUOTED_CLOSERS + 1])
def test_a_call_that_names_its_closing_mark_often_runs_when_the_reply_ends(count: int, size: int) -> None:
    arguments = {"text": "</tool_call>" * count}
    text = f"<tool_call>{json.dumps({'name': 'f', 'arguments': arguments})}</tool_call>\nThat is all."
    scanner = TextScanner(MARKED)
    found = [piece for at in range(0, len(text), size) for piece in scanner.feed(text[at : at + size])]

    assert any(isinstance(piece, CallSegment) for piece in found) is (count <= MAX_QUOTED_CLOSERS)
    assert calls([*(piece for piece in found if not isinstance(piece, PendingSegment)), *scanner.close()]) == [
        ("f", arguments)
    ]


def test_a_call_in_the_making_says_how_long_it_is() -> None:
    scanner = TextScanner(MARKED)
    scanner.feed('<tool_call>{"name": "f", ')
    found = scanner.feed('"arguments": {"a": "' + "x" * 100)

    assert len(found) == 1
    assert isinstance(found[0], PendingSegment)
    assert found[0].size >= 100


@pytest.mark.parametrize(("opening", "reason"), [("<tool_call>{", "too_long"), ('{"name":', None)])
def test_a_call_that_grows_too_long_is_released(opening: str, reason: str | None) -> None:
    text = opening + "x" * (MAX_HELD + 10)
    found = scan([text[start : start + 65_536] for start in range(0, len(text), 65_536)], runs=FORMATS["pythonic"].runs)

    assert [piece.reason for piece in found if isinstance(piece, MalformedSegment)] == ([reason] if reason else [])
    assert whole(found) == text


def test_held_prose_is_given_before_something_else_comes() -> None:
    scanner = TextScanner(MARKED)
    scanner.feed("One and <to")

    assert scanner.flush() == [TextSegment("<to")]


def test_a_scanner_can_be_copied_in_the_middle_of_a_call() -> None:
    scanner = TextScanner(MARKED)
    scanner.feed(CALL[:30])
    twin = copy.deepcopy(scanner)

    assert [*scanner.feed(CALL[30:]), *scanner.close()] == [*twin.feed(CALL[30:]), *twin.close()]
