"""How much of a reply is searched for calls: what is beyond is hidden, runs nothing, and the model is told."""

from __future__ import annotations

import pytest

from nbtool.events import CallDelta
from nbtool.messages import ToolCall
from nbtool.wire.prompted.call_starts import MAX_LINE_START
from nbtool.wire.prompted.forms.marked_blocks import MAX_BODY_CHARS, MAX_PARTS
from nbtool.wire.prompted.forms.searched_text import MAX_TRIES
from nbtool.wire.prompted.forms.table import find_other_forms
from nbtool.wire.prompted.own_fence import MAX_MARKS
from nbtool.wire.prompted.prompted_wire import PIECE, PromptedWire
from nbtool.wire.prompted.segments import MalformedSegment, TextSegment
from nbtool.wire.reply import CALLS_CEILING
from tests.wire.prompted.model_texts import WORD
from tests.wire.prompted.test_model_texts import names_of, scan, shown, source
from tests.wire.prompting import FENCE, INNER, WRITTEN, read, stream_body

TOOLS = {"price", "f"}
SENTENCE = "The mark `[TOOL_CALLS]` is one of Mistral. "

UNREAD = {
    "own marks": f"{WORD} " * MAX_MARKS + f'```{WORD}\n{{"name": "price", "arguments": {{}}}}\n```',
    "places of one form": "<|mark|> and words.\n\n" * MAX_TRIES + "<|mark|> price",
    "blocks of many characters": SENTENCE + "words " * (MAX_BODY_CHARS // 6) + SENTENCE * 2 + "price",
    "a place within another form": "<|mark|> and words.\n\n" * MAX_TRIES
    + "<tool_call>price<|mark|></tool_call>\nprice",
}
"""Texts in which more is than is looked at."""


@pytest.mark.parametrize("how", UNREAD)
def test_what_is_beyond_a_limit_is_hidden_runs_nothing_and_is_reported(how: str) -> None:
    pieces = scan(UNREAD[how])

    assert names_of(pieces) == []
    assert source(pieces) == UNREAD[how]
    assert "price" not in shown(pieces)
    assert any(isinstance(piece, MalformedSegment) for piece in pieces)


@pytest.mark.parametrize("how", UNREAD)
def test_the_error_says_that_the_rest_was_not_read(how: str) -> None:
    wire = PromptedWire(INNER, FENCE, names=TOOLS)
    reply, _ = read(stream_body(UNREAD[how].replace(WORD, f"call-{FENCE}")), wire=wire)
    last = reply.message.parts[-1]

    assert isinstance(last, ToolCall)
    assert not last.runnable
    assert "More beginnings of calls came before this than are read" in str(last.error)


def test_as_many_own_marks_as_are_read_hide_nothing() -> None:
    reply, _ = read(stream_body(f"call-{FENCE} " * (MAX_MARKS - 1) + "\n" + WRITTEN), wire=PromptedWire(INNER, FENCE))

    assert [call.runnable for call in reply.calls] == [True]


def test_a_short_text_may_name_a_mark_often() -> None:
    text = SENTENCE * 50

    assert find_other_forms(text, TOOLS) == []


@pytest.mark.parametrize("size", [1, 2, 1_000])
@pytest.mark.parametrize("text", ["\u0130 <tool_call>price</tool_call>", "look \u0130[price(ticker='A')] "])
def test_a_letter_whose_small_form_is_longer_moves_no_mark(text: str, size: int) -> None:
    pieces = scan(*(text[at : at + size] for at in range(0, len(text), size)))

    assert pieces == scan(text)
    assert any(isinstance(piece, MalformedSegment) for piece in pieces)


def test_empty_lines_at_the_start_of_a_fence_of_code_wait_for_its_content_to_a_limit() -> None:
    prose = "```python\n" + "\n" * (2 * MAX_LINE_START) + "x = 1\n```\n"

    assert scan(*prose) == [TextSegment(prose)]


def test_a_long_text_is_not_scanned_after_more_calls_than_a_reply_may_have() -> None:
    block = "<tool_call>?</tool_call>\n"
    count = 4 * PIECE // len(block)
    _, deltas = read(stream_body(block * count), wire=PromptedWire(INNER, FENCE, format="hermes"))
    calls = [delta for delta in deltas if isinstance(delta, CallDelta)]

    assert CALLS_CEILING < len(calls) <= CALLS_CEILING + PIECE // len(block) + 1 < count
    assert all(delta.error for delta in calls)


@pytest.mark.parametrize(("count", "is_shown"), [(1, True), (MAX_PARTS - 1, True), (MAX_PARTS, False)])
def test_an_answer_behind_an_unclosed_block_is_shown_unless_the_block_has_too_many_parts(
    count: int, is_shown: bool
) -> None:
    call = '{"name": "price", "arguments": {}}\n'
    pieces = scan(f"<tool_call>{call * count}\nThat is all.")

    assert ("That is all." in shown(pieces)) is is_shown
    assert "arguments" not in shown(pieces)
