from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.chain.repair import NO_RESULT, repair_history
from nbtool.messages import Message, Text, ToolCall, ToolResult, assistant, results, user


def a_call(number: int, arguments: str = "{}", error: str | None = None) -> ToolCall:
    return ToolCall("f", arguments, id=f"id{number}", call_id=f"call{number}", error=error)


def an_answer(number: int) -> ToolResult:
    return ToolResult("f", "ok", id=f"id{number}", call_id=f"call{number}")


def test_a_whole_history_stays_as_it_is():
    history = [user("a"), assistant("b", a_call(1)), results(an_answer(1)), assistant("c")]

    assert repair_history(history) == history


def test_a_call_without_a_result_is_answered():
    repaired = repair_history([user("a"), assistant(a_call(1), a_call(2)), results(an_answer(2)), user("b")])

    assert [result.text for result in repaired[2].results] == [NO_RESULT, "ok"]
    assert [message.role for message in repaired] == ["user", "assistant", "tool", "user"]


def test_a_result_without_a_call_is_dropped():
    assert repair_history([user("a"), results(an_answer(1)), assistant("b")]) == [user("a"), assistant("b")]


def test_arguments_that_are_not_json_become_an_empty_object():
    repaired = repair_history([user("a"), assistant(a_call(1, '{"x":', error="cut")), results(an_answer(1))])

    assert repaired[1].calls[0].arguments == "{}"


def test_an_empty_assistant_message_is_dropped():
    assert repair_history([user("a"), assistant(), assistant(""), user("b")]) == [user("a"), user("b")]


parts = st.one_of(
    st.sampled_from(["", "word"]).map(Text),
    st.integers(0, 3).map(a_call),
    st.integers(0, 3).map(lambda number: a_call(number, '{"x', error="cut")),
)
messages = st.one_of(
    st.lists(parts, max_size=3).map(lambda found: assistant(*found)),
    st.sampled_from(["a", "b"]).map(user),
    st.lists(st.integers(0, 3).map(an_answer), max_size=3).map(lambda found: results(*found)),
)


def calls_are_answered(history: list[Message]) -> bool:
    for message, after in zip(history, [*history[1:], user("end")][: len(history)], strict=True):
        asked = {call.call_id for call in message.calls}
        actual = [result.call_id for result in after.results]
        if message.role == "assistant" and ((asked and set(actual) != asked) or len(actual) != len(set(actual))):
            return False
        if message.role == "user" and actual:
            return False
    return not (history and history[0].role == "tool")


@settings(max_examples=500)
@given(st.lists(messages, max_size=8))
def test_any_history_becomes_one_in_which_every_call_is_answered_once(history: list[Message]):
    repaired = repair_history(history)

    assert calls_are_answered(repaired)
    assert repair_history(repaired) == repaired
