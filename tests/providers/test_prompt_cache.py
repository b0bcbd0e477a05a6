"""What share of the requests that nbtool sends is read from the providers' prompt caches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from nbtool.chat.prompt_context import HistoryMode
from tests.providers.behaviour import TEXT_DIALECTS
from tests.providers.cached_conversations import MODES, TOOL_MODES, shares, uses_of, written_shares
from tests.providers.prompt_cache import cost, measure_cache, share_after_first

LEAST_SHARE = 0.9
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", [None, *MODES], ids=str)
@pytest.mark.parametrize("tool_mode", TOOL_MODES)
@pytest.mark.parametrize("wire", TEXT_DIALECTS)
def test_nine_tenths_of_all_requests_but_the_first_are_read_from_the_cache(
    wire: str, tool_mode: str, mode: HistoryMode | None
) -> None:
    assert share_after_first(uses_of(wire, tool_mode, mode)) >= LEAST_SHARE


@pytest.mark.parametrize("tool_mode", TOOL_MODES)
@pytest.mark.parametrize("wire", TEXT_DIALECTS)
def test_each_request_of_a_turn_reads_the_request_before_it(wire: str, tool_mode: str) -> None:
    uses = uses_of(wire, tool_mode, None)

    unread = [before.tokens - use.cached for before, use in pairwise(uses)]
    assert max(unread) <= 160  # a step of the cache, and the end of the JSON


@pytest.mark.parametrize(
    "result_size",
    [4, pytest.param(400, marks=pytest.mark.nightly), 1_500, pytest.param(3_000, marks=pytest.mark.nightly), 20_000],
)
@pytest.mark.parametrize("tool_mode", TOOL_MODES)
@pytest.mark.parametrize("wire", TEXT_DIALECTS)
def test_compact_history_is_never_dearer_than_native_history(wire: str, tool_mode: str, result_size: int) -> None:
    compact, native = (cost(uses_of(wire, tool_mode, mode, result_size)) for mode in ("compact", "native"))

    assert compact <= native


@pytest.mark.nightly
def test_the_page_states_the_shares() -> None:
    assert len(written_shares()) == len(shares())
    for written, measured in zip(written_shares(), shares().values(), strict=True):
        assert written == pytest.approx(measured, abs=0.01)


def chat_body(*texts: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text} for text in texts]}


def marked_body(*texts: str, marks: tuple[int, ...] = (-1,), **fields: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for mark in marks:
        content[mark] |= MARK
    return {
        "system": [{"type": "text", "text": LONG, **MARK}],
        "messages": [{"role": "user", "content": content}],
        **fields,
    }


LONG = "a" * 20_000


def cached(dialect: str, *bodies: dict[str, Any]) -> list[int]:
    return [use.cached for use in measure_cache(dialect, bodies)]


def test_openai_reads_prefixes_in_steps_from_a_minimum_on() -> None:
    assert cached("chat", chat_body("a" * 4_000), chat_body("a" * 4_000, "b"))[1] == 0
    assert cached("chat", chat_body("a" * 4_800), chat_body("a" * 4_800, "b"))[1] == 1_152
    assert cached("chat", chat_body("a" * 4_800), {**chat_body("a" * 4_800), "tools": [{"name": "x"}]})[1] == 0


def test_anthropic_reads_prefixes_that_end_at_a_mark_of_an_earlier_request() -> None:
    before, after = marked_body(LONG), marked_body(LONG, "b")
    whole = measure_cache("anthropic", [before])[0].tokens

    assert cached("anthropic", before, after) == [0, whole]
    assert cached("anthropic", marked_body(LONG, marks=()), after)[1] < whole  # the system text alone
    assert cached("anthropic", before, marked_body(LONG, *"b" * 19))[1] == whole
    assert cached("anthropic", before, marked_body(LONG, *"b" * 20))[1] < whole


@pytest.mark.parametrize("fields", [{"tool_choice": {"type": "none"}}, {"thinking": {"type": "adaptive"}}], ids=str)
def test_anthropic_reads_no_messages_after_another_choice_or_other_thinking(fields: dict[str, Any]) -> None:
    system = measure_cache("anthropic", [marked_body(LONG, marks=()), marked_body(LONG, "b", marks=())])[1].cached

    assert cached("anthropic", marked_body(LONG), marked_body(LONG, "b", **fields))[1] == system > 0


def test_gemini_reads_the_longest_common_prefix_from_its_minimum_on() -> None:
    def body(*texts: str) -> dict[str, Any]:
        return {"contents": [{"role": "user", "parts": [{"text": text}]} for text in texts]}

    assert cached("gemini", body("a" * 16_000), body("a" * 16_000, "b"))[1] == 0
    assert cached("gemini", body("a" * 20_000), body("a" * 20_000, "b"))[1] > 4_096
