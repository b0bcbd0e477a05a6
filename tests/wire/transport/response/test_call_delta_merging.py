from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta
from nbtool.wire.reply import ReplyBuilder
from nbtool.wire.transport.response.call_delta_merging import coalesce

FRAGMENTS = st.lists(
    st.builds(
        CallDelta,
        key=st.sampled_from("01"),
        id=st.sampled_from(["", "", "call_9"]),
        name=st.sampled_from(["", "", "look"]),
        arguments=st.text("{}a", max_size=3),
        final=st.sampled_from([False, False, True]),
    )
    | st.builds(TextDelta, st.text("xy", min_size=1, max_size=2)),
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
        CallDelta("0", arguments="a"), CallDelta("1", arguments="bc"), TextDelta("x"), TextDelta("y"),
        CallDelta("1", arguments="d"),
    ]  # fmt: skip


@given(FRAGMENTS)
def test_a_reply_is_the_same_with_its_fragments_joined_and_apart(arrived: list[Delta]) -> None:
    def actual(deltas: list[Delta]) -> list[tuple[str, ...]]:
        builder = ReplyBuilder()
        for delta in [*deltas, ReplyEnd("tools")]:
            builder.add(delta)
        reply = builder.reply()
        return [(reply.text,), *((call.name, call.arguments) for call in reply.calls)]

    apart = [CallDelta(d.key, d.id, d.name, d.arguments, d.final) if isinstance(d, CallDelta) else d for d in arrived]

    assert actual(coalesce(arrived)) == actual(apart)
