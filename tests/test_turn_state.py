"""The state of a turn, folded from its events; that live turns have the same is compared in every test (conftest)."""

from __future__ import annotations

import pytest

from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    Notice,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    TurnEnded,
    TurnParked,
    TurnStarted,
)
from nbtool.messages import Message, Text, ToolCall, ToolResult, Usage, results, user
from nbtool.turn_state import SHOWN_CHARS, Call, fold

BEGAN = TurnStarted("turn", "m", user("Hi"), 1.0)
CALLS = [ToolCall("pay", '{"n": 1}', "p1", "c1"), ToolCall("look", "{}", "p2", "c2")]
REPLY = ReplyFinished(1, Message("assistant", tuple(CALLS)), "tools", Usage(10, 5), complete=True)
QUESTION = CallAsked("c1", "run", "d1", "pay", "{}")


def ended(call_id: str, *, round: int = 1, status: str = "ok") -> CallFinished:
    return CallFinished(call_id, "tool", round, status, "seen")  # type: ignore[arg-type]  # one of the statuses


def test_calls_are_in_the_order_of_the_requests_and_inner_ones_after_those_of_their_round() -> None:
    made: list[Event] = [CallReady("i1", "inner", 1, "{}", inside="c2"), CallReady("c2", "look", 1, "{}")]
    state = fold([BEGAN, REPLY, *made, ended("c2"), ended("i1"), ended("c1"), ended("c0", round=0)])

    assert [one.call_id for one in state.calls] == ["c0", "c1", "c2", "i1"]
    assert [one.inside for one in state.calls] == ["", "", "", "c2"]
    assert (state.calls[1].arguments, state.calls[1].id) == ('{"n": 1}', "p1")


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([], "running"),
        ([QUESTION], "waiting"),
        ([QUESTION, TurnParked("d1", 9.0)], "parked"),
        ([QUESTION, TurnParked("d1", 9.0), CallDecided("c1", "run", "d1", "approved", "button")], "running"),
        ([QUESTION, ended("c1")], "running"),
        ([QUESTION, TurnEnded("cancelled", "", Usage(), 1, 1, 0.0)], "cancelled"),
    ],
)
def test_a_turn_waits_while_a_question_is_open(events: list[Event], status: str) -> None:
    assert fold([BEGAN, REPLY, CallReady("c1", "pay", 1, "{}"), *events]).status == status


def test_what_a_call_went_through_is_in_it() -> None:
    decided = CallDecided("c1", "run", "d1", "approved", "button", edited=True)
    first = [
        CallReady("c1", "pay", 1, "{}"),
        QUESTION,
        decided,
        CallStarted("c1", 5.0, edited='{"n": 2}', guarded=True),
    ]
    running = fold([BEGAN, REPLY, *first]).calls[0]
    over = fold([BEGAN, REPLY, *first, CallFinished("c1", "pay", 1, "ok", "paid", seconds=2.0)]).calls[0]

    assert (running.status, running.started, running.ended, running.is_guarded) == ("running", 5.0, None, True)
    assert (over.status, over.shown, over.ended, over.edited) == ("ok", "paid", 7.0, '{"n": 2}')
    assert over.decisions == [decided]


def test_a_call_that_did_not_run_has_no_start() -> None:
    state = fold([BEGAN, REPLY, CallReady("c1", "pay", 1, "{}"), CallStarted("c1", 5.0), ended("c1", status="not_run")])

    assert (state.calls[0].started, state.calls[0].ended, state.calls[0].has_run) == (None, None, False)


def test_an_approval_that_a_plugin_asks_for_is_no_call() -> None:
    decided = CallDecided("b1", "run", "d9", "approved", "button")
    state = fold([BEGAN, CallAsked("b1", "run", "d9", "budget", "More?"), decided, ended("b1", round=0), REPLY])

    assert (state.calls, state.status) == ([], "running")


def test_replies_messages_and_notices_are_those_of_the_events() -> None:
    answered = results(ToolResult("pay", "paid", "p1", "c1"))
    notice = Notice("Look here.")
    state = fold(
        [
            BEGAN,
            RequestStarted(1),
            TextDelta("x"),
            REPLY,
            MessageAppended(REPLY.message),
            MessageAppended(answered),
            notice,
        ]
    )

    assert [reply.calls for reply in state.replies] == [tuple(CALLS)]
    assert state.chain == [REPLY.message, answered]
    assert state.notices == [notice]
    assert (state.usage, state.stats.rounds, state.text) == (Usage(10, 5), 1, "")


def test_the_text_is_that_of_the_end_or_the_latest() -> None:
    said = ReplyFinished(1, Message("assistant", (Text("First."),)), "end", Usage(), complete=True)
    empty = ReplyFinished(2, Message("assistant", (Text(" "),)), "end", Usage(), complete=True)

    assert fold([BEGAN, said, empty]).text == "First."
    assert fold([BEGAN, said, TurnEnded("completed", "Whole.", Usage(1), 1, 0, 2.0)]).text == "Whole."


def test_nothing_changes_a_turn_after_its_end() -> None:
    end = TurnEnded("completed", "Done.", Usage(), 1, 1, 0.0)

    assert fold([BEGAN, REPLY, end, ended("c1"), QUESTION]) == fold([BEGAN, REPLY, end])


def test_the_questions_that_another_thread_reads_do_not_change_under_it() -> None:
    state = fold([BEGAN, REPLY, CallReady("c1", "pay", 1, "{}"), QUESTION])
    read = iter(state.questions)
    state.apply(CallAsked("c2", "run", "d2", "look", "{}"))
    state.apply(CallDecided("c1", "run", "d1", "approved", "button"))

    assert list(read) == ["d1"]
    assert list(state.questions) == ["d2"]


class Slow:
    """An object that may not be written out."""

    def __repr__(self) -> str:
        raise AssertionError


def test_a_call_is_represented_by_its_tool_its_arguments_its_status_and_what_the_model_got() -> None:
    waiting = Call("c1", "pay", '{"n": 1}', 1)
    done = Call("c1", "pay", '{"n": 1}', 1, status="ok", shown="Paid.", edited='{"n": 2}', result=Slow())

    assert repr(waiting) == """<Call 'pay', arguments '{"n": 1}', waiting>"""
    assert repr(done) == """<Call 'pay', arguments '{"n": 2}', ok: 'Paid.'>"""


def test_a_representation_of_a_call_is_one_short_line_without_hidden_characters() -> None:
    text = "\u202e\n\x1b[31m" + "x" * 10_000
    call = Call("c1", text, text, 1, status="ok", shown=text)

    assert len(repr(call)) < 6 * SHOWN_CHARS
    assert repr(call).isprintable()
    assert repr(call).count("characters more]") == 3
