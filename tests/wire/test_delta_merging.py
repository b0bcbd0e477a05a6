from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta, ThinkingDelta
from nbtool.wire.delta_merging import MAX_MERGED_CHARS, coalesce
from nbtool.wire.reply import ReplyBuilder

FRAGMENTS = st.lists(
    st.builds(
        CallDelta,
        key=st.sampled_from("01"),
        id=st.sampled_from(["", "", "call_9"]),
        name=st.sampled_from(["", "", "look"]),
        arguments=st.text("{}a", max_size=3),
        final=st.sampled_from([False, False, True]),
    )
    | st.builds(TextDelta, st.text("xy", min_size=1, max_size=2), is_new=st.sampled_from([False, False, True]))
    | st.builds(ThinkingDelta, st.text("zw", min_size=1, max_size=2), is_new=st.sampled_from([False, False, True])),
    max_size=12,
)


def test_what_came_at_once_of_one_call_is_one_event() -> None:
    arrived: list[Delta] = [
        CallDelta("0", "id", "look", '{"a'),
        CallDelta("0", arguments='": '),
        CallDelta("0", arguments="1}"),
    ]

    assert coalesce(arrived) == [CallDelta("0", "id", "look", '{"a": 1}')]


def test_prose_and_other_calls_separate_what_they_are_between() -> None:
    arrived: list[Delta] = [
        CallDelta("0", arguments="a"), CallDelta("1", arguments="b"), CallDelta("1", arguments="c"), TextDelta("x"),
        TextDelta("y"), CallDelta("1", arguments="d"),
    ]  # fmt: skip

    assert coalesce(arrived) == [
        CallDelta("0", arguments="a"), CallDelta("1", arguments="bc"), TextDelta("xy"), CallDelta("1", arguments="d"),
    ]  # fmt: skip


def test_what_came_at_once_of_one_text_is_one_event_but_thinking_and_a_new_text_are_events_of_their_own() -> None:
    arrived: list[Delta] = [
        ThinkingDelta("so"), ThinkingDelta("me"), TextDelta("a"), TextDelta("b"), TextDelta("c", is_new=True),
        TextDelta("d"), ReplyEnd("end"),
    ]  # fmt: skip

    assert coalesce(arrived) == [
        ThinkingDelta("some"), TextDelta("ab"), TextDelta("cd", is_new=True), ReplyEnd("end"),
    ]  # fmt: skip


def test_a_long_text_that_came_at_once_is_several_events() -> None:
    pieces = ["ten chars."] * (3 * MAX_MERGED_CHARS // 10)

    texts = [delta.text for delta in coalesce(map(TextDelta, pieces)) if isinstance(delta, TextDelta)]

    assert "".join(texts) == "".join(pieces)
    assert len(texts) == 3
    assert max(map(len, texts)) < MAX_MERGED_CHARS + len(pieces[0])


@given(FRAGMENTS)
def test_a_reply_is_the_same_with_its_fragments_joined_and_apart(arrived: list[Delta]) -> None:
    def actual(deltas: list[Delta]) -> list[tuple[str, ...]]:
        builder = ReplyBuilder()
        for delta in [*deltas, ReplyEnd("tools")]:
            builder.add(delta)
        reply = builder.reply()
        return [(reply.text, reply.thinking), *((call.name, call.arguments) for call in reply.calls)]

    assert actual(coalesce(deepcopy(arrived))) == actual(arrived)
