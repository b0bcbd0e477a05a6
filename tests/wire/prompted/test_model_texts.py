"""What becomes of the texts of model families, where calls need the chat's own mark."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.wire.prompted.forms.table import find_other_forms
from nbtool.wire.prompted.reading import RunningForms
from nbtool.wire.prompted.segments import CallSegment, MalformedSegment, PendingSegment, Piece, TextSegment, merge_text
from nbtool.wire.prompted.text_scanner import TextScanner
from tests.cpu_time import run_within
from tests.wire.prompted.model_texts import CALL, HIDDEN, NAMES, PROSE, RUN, WORD


def scan(*parts: str, complete: bool = True) -> list[Piece]:
    scanner = TextScanner(RunningForms(WORD), NAMES)
    pieces = [piece for part in parts for piece in scanner.feed(part)]
    return merge_text(
        piece for piece in (*pieces, *scanner.close(complete=complete)) if not isinstance(piece, PendingSegment)
    )


def shown(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextSegment))


def names_of(pieces: list[Piece]) -> list[str]:
    return [call.name for piece in pieces if isinstance(piece, CallSegment) for call in piece.calls]


def source(pieces: list[Piece]) -> str:
    return "".join(piece.text if isinstance(piece, TextSegment) else piece.source for piece in pieces)


def test_there_are_many_texts() -> None:
    assert len(RUN) + len(HIDDEN) + len(PROSE) >= 150


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("how", RUN)
def test_the_own_block_runs_however_it_is_rendered(how: str) -> None:
    pieces = scan(RUN[how])

    assert names_of(pieces) in (["price"], ["run_python"])
    assert not any(isinstance(piece, MalformedSegment) for piece in pieces)
    assert "price" not in shown(pieces)
    assert source(pieces) == RUN[how]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("how", HIDDEN)
def test_what_only_looks_like_a_call_is_hidden_and_does_not_run(how: str) -> None:
    pieces = scan(HIDDEN[how])

    assert names_of(pieces) == []
    assert any(isinstance(piece, MalformedSegment) for piece in pieces)
    assert not any(mark in shown(pieces) for mark in ("ticker", "arguments", "tool_call", "<|", WORD, "call>"))
    assert source(pieces) == HIDDEN[how]


answers = st.sampled_from(["", "Well.\n\n", "I look it up, and then I know.\n", "\n"])


@settings(max_examples=100)
@given(how=st.sampled_from(sorted(HIDDEN)), before=answers, cuts=st.lists(st.integers(0, 500), max_size=3))
def test_what_only_looks_like_a_call_is_hidden_behind_any_answer_and_in_any_pieces(
    how: str, before: str, cuts: list[int]
) -> None:
    text = before + HIDDEN[how]
    pieces = scan(*pieces_of(text, cuts))

    assert names_of(pieces) == []
    assert any(isinstance(piece, MalformedSegment) for piece in pieces)
    assert not any(mark in shown(pieces) for mark in ("ticker", "arguments", "tool_call", "<|", WORD, "call>"))
    assert source(pieces) == text


@settings(max_examples=80)
@given(how=st.sampled_from(sorted(RUN)), before=answers, cuts=st.lists(st.integers(0, 500), max_size=3))
def test_the_own_block_runs_behind_any_answer_and_in_any_pieces(how: str, before: str, cuts: list[int]) -> None:
    text = before + RUN[how]
    pieces = scan(*pieces_of(text, cuts))

    assert names_of(pieces) in (["price"], ["run_python"])
    assert "price" not in shown(pieces)
    assert source(pieces) == text


@settings(max_examples=80)
@given(
    text=st.lists(
        st.sampled_from([one for one in HIDDEN.values() if WORD not in one]) | st.text(max_size=9), max_size=4
    ).map("\n".join)
)
def test_without_tools_every_text_is_an_answer(text: str) -> None:
    scanner = TextScanner(RunningForms(WORD), ())
    pieces = [*scanner.feed(text), *scanner.close()]

    assert "".join(piece.text for piece in pieces if isinstance(piece, TextSegment)) == text


@pytest.mark.parametrize("how", PROSE)
def test_an_answer_stays_as_it_is(how: str) -> None:
    assert scan(PROSE[how]) == [TextSegment(PROSE[how])]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("text", [*RUN.values(), *HIDDEN.values(), *PROSE.values()])
def test_where_the_stream_is_cut_changes_nothing(text: str) -> None:
    whole = scan(text)

    assert scan(*text) == whole
    for cut in range(1, len(text), 3):
        assert scan(text[:cut], text[cut:]) == whole


EVERY_TEXT = [*RUN.values(), *HIDDEN.values(), *PROSE.values()]
LINES = sorted({line for text in EVERY_TEXT for line in text.split("\n")})


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]


@settings(max_examples=80)
@given(
    text=st.lists(st.sampled_from(EVERY_TEXT) | st.sampled_from(LINES) | st.text(max_size=5), max_size=4).map(
        "\n".join
    ),
    cuts=st.lists(st.integers(0, 2_000), max_size=6),
)
def test_a_text_of_any_parts_is_read_the_same_wherever_its_stream_is_cut(text: str, cuts: list[int]) -> None:
    whole = scan(text)

    assert scan(*pieces_of(text, cuts)) == scan(*text) == whole
    assert source(whole) == text


@settings(max_examples=80)
@given(text=st.lists(st.sampled_from(sorted(HIDDEN.values())) | st.text(max_size=20), max_size=3).map("\n\n".join))
def test_without_the_word_of_the_chat_nothing_runs(text: str) -> None:
    assert names_of(scan(text.replace(WORD, "call-00000000"))) == []


@pytest.mark.parametrize("text", RUN.values())
def test_nothing_runs_of_a_reply_that_was_cut_anywhere_in_its_call(text: str) -> None:
    start = text.lower().index(WORD) + len(WORD)
    for cut in range(start, len(text.rstrip()), 2):
        pieces = scan(text[:cut], complete=False)
        if names_of(pieces):
            assert text[:cut].count("}") >= text.count("}") - 1 or text[:cut].rstrip().endswith((")", "]", ">"))


@pytest.mark.parametrize("tail", ["\n", "\n<|im_start|>\n", f"\n<|im_start|>\n{CALL}\n"])
def test_an_answer_behind_a_block_without_end_is_shown(tail: str) -> None:
    answer = "To solve this, we need the price first, which is 12."
    pieces = scan(f"<tool_call>\n{CALL}{tail}{answer}")

    assert names_of(pieces) == []
    assert shown(pieces).strip() == answer


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("how", HIDDEN)
def test_without_tools_nothing_looks_like_a_call(how: str) -> None:
    scanner = TextScanner(RunningForms(WORD), ())
    pieces = [*scanner.feed(HIDDEN[how]), *scanner.close()]

    assert "".join(piece.text for piece in pieces if isinstance(piece, TextSegment)) == HIDDEN[how]


@pytest.mark.parametrize("unit", ["*", "`", ">", "[", "<|x|>", "price\n", "tool ", '{"name": "price", '])
def test_a_long_run_of_marks_is_read_in_linear_time(unit: str) -> None:
    run_within(5, lambda: scan(unit * (20_000 // len(unit))))  # a quadratic reading takes minutes


def test_a_long_line_of_tildes_after_a_mark_of_a_call_is_read_in_linear_time() -> None:
    text = "<tool_call>\n" + "~" * 100_000

    run_within(1, lambda: find_other_forms(text, NAMES))  # a quadratic reading takes 50 s


@pytest.mark.parametrize(
    ("content", "is_held"),
    [("import math\nmath", False), ("look(n=1)\nmore", True), ('{"n": 1}\nmore', True), ("[1]\nmore", True)],
)
def test_code_in_a_fence_is_passed_on_at_once_unless_it_begins_like_a_call(content: str, is_held: bool) -> None:
    scanner = TextScanner(RunningForms(WORD), ["look"])

    pieces = scanner.feed(f"See:\n```python\n{content}")

    assert any(isinstance(piece, PendingSegment) for piece in pieces) is is_held


def test_a_line_that_may_become_a_label_of_a_call_waits_for_its_end() -> None:
    for label in ("calling", "invoke", "tool"):
        scanner = TextScanner(RunningForms(WORD), ["look"])

        assert scanner.feed(label[:-1]) == []
