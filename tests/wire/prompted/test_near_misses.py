"""Near misses of calls in the formats of Hermes and of Python lists: reported as in `json`, and no answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.events import Delta
from nbtool.wire import Reply, ReplyBuilder, find_wire
from nbtool.wire.prompted.prompted_wire import PromptedWire
from tests.chaos import DONE, finish, head, serve_each, text
from tests.wire import chatting
from tests.wire.prompted.model_texts import HIDDEN, NAMES, PROSE
from tests.wire.reading import close, feed

FORMATS: list[Any] = ["hermes", "pythonic"]


def read(said: str, form: Any, size: int = 7) -> Reply:
    decoder = PromptedWire(find_wire("chat"), "7f3a9c21", format=form, names=NAMES).decoder()
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    body = chatting.stream(*(chatting.chunk({"content": piece}) for piece in pieces), chatting.chunk({}, "stop"))
    deltas: list[Delta] = [*feed(decoder, body), *close(decoder)]
    builder = ReplyBuilder()
    for delta in deltas:
        builder.add(delta)
    return builder.reply()


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", [how for how in HIDDEN if not how.startswith("own block")])
def test_what_looks_like_a_call_is_a_call_or_reported(how: str, form: Any) -> None:
    reply = read(HIDDEN[how], form)

    assert reply.calls
    assert all(call.runnable or call.error for call in reply.calls)


def outline(reply: Reply) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return a reply without the ids that nbtool makes."""
    return reply.text, [(call.name, call.arguments, call.runnable) for call in reply.calls]


@settings(max_examples=60)
@given(
    how=st.sampled_from([how for how in HIDDEN if not how.startswith("own block")]),
    form=st.sampled_from(FORMATS),
    before=st.sampled_from(["", "\n", "Well.\n\n", "So it is, and I look.\n"]),
    size=st.integers(1, 80),
)
def test_what_looks_like_a_call_behind_any_text_and_in_pieces_of_any_size_is_never_an_answer(
    how: str, form: Any, before: str, size: int
) -> None:
    reply = read(before + HIDDEN[how], form, size)

    assert reply.calls
    assert all(call.runnable or call.error for call in reply.calls)
    assert outline(reply) == outline(read(before + HIDDEN[how], form, 10_000))


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", PROSE)
def test_prose_is_passed_on_unchanged(how: str, form: Any) -> None:
    reply = read(PROSE[how], form)

    assert not any(call.is_malformed for call in reply.calls)
    assert reply.calls or reply.text == PROSE[how]


WORDS = st.text("aZ .,;-é😀\n", max_size=20)


@settings(max_examples=60)
@given(
    parts=st.tuples(WORDS, st.sampled_from(sorted(PROSE.values())), WORDS),
    form=st.sampled_from(FORMATS),
    size=st.integers(1, 80),
)
def test_prose_in_pieces_of_any_size_is_passed_on_unchanged(parts: tuple[str, str, str], form: Any, size: int) -> None:
    prose = "\n\n".join(parts)

    reply = read(prose, form, size)

    assert not any(call.is_malformed for call in reply.calls)
    assert reply.calls or reply.text == prose


@pytest.mark.parametrize("form", FORMATS)
def test_the_model_is_asked_again_and_the_person_notified(form: Any) -> None:
    @tool(run="auto")
    def price(ticker: str) -> int:
        "Give a price."
        return len(ticker)

    miss = [head(), text("Action: price\nAction Input: {'ticker': 'A'}\n") + finish() + DONE]
    with serve_each(miss, [head(), text("It costs 7.") + finish() + DONE]) as server:
        turn = Chat("m", base_url=server.url, tools=[price], tool_mode="prompted", tool_format=form).send("Go")

    assert turn.text == "It costs 7."
    assert [notice.topic for notice in turn.notices] == ["malformed_call"]
    assert len(server.requests) == 2
