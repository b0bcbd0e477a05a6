from __future__ import annotations

import pytest

from nbtool.blocks.history.timeline import spans, timed_log, total_waits
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    ReplyFinished,
    RequestStarted,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Usage, assistant, user
from tests.history_of_many import make_turn

BEGAN = 1_000.0
REPLY = ReplyFinished(1, assistant("x"), "tools", Usage(), complete=True, seconds=2.0)
GATE = CallAsked("c", "result", "d", "price", "10")
RELEASED = CallDecided("c", "result", "d", "released", "button")


def start_event() -> TurnStarted:
    return TurnStarted("t", "m", user("x"), BEGAN)


def at_seconds(*events: tuple[float, Event]) -> list[tuple[float | None, Event]]:
    return [(BEGAN + at, event) for at, event in events]


def test_model_person_and_tools_are_distinguished_with_their_lengths() -> None:
    found = spans(timed_log(make_turn(6, node="n")))

    assert [(span["who"], span["label"]) for span in found] == [
        ("model", "round 1"), ("tool", "price"), ("person", "order"), ("tool", "order"), ("model", "round 2"),
    ]  # fmt: skip
    assert [span["end"] - span["start"] for span in found] == pytest.approx([1.5, 0.83, 3.2, 0.61, 1.1], abs=0.005)
    assert found[2]["state"] == "approved"


def test_a_tool_has_run_when_its_result_is_asked_about_and_then_the_person_is_waited_for() -> None:
    log = at_seconds(
        (0, start_event()), (0, CallReady("c", "price", 1, "{}")), (1, CallStarted("c", BEGAN + 1)), (3, GATE),
        (8, RELEASED), (8, CallFinished("c", "price", 1, "ok", "10", seconds=7.0)),
    )  # fmt: skip

    found = spans(log)

    assert [(span["who"], span["start"], span["end"]) for span in found] == [("tool", 1, 3), ("person", 3, 8)]


def test_calls_in_parallel_count_once() -> None:
    log = at_seconds(
        (0, start_event()), (0, CallStarted("a", BEGAN)), (1, CallStarted("b", BEGAN + 1)),
        (3, CallFinished("b", "b", 1, "ok", "")), (4, CallFinished("a", "a", 1, "ok", "")),
    )  # fmt: skip

    assert total_waits(spans(log)) == {"model": 0.0, "person": 0.0, "tool": 4.0}


def test_without_times_the_events_own_lengths_are_taken() -> None:
    events: list[Event] = [
        start_event(), RequestStarted(1), REPLY, CallStarted("c", BEGAN + 5),
        CallFinished("c", "price", 1, "ok", "", seconds=1.5), TurnEnded("completed", "", Usage(), 1, 1, 7.0),
    ]  # fmt: skip

    found = spans([(None, event) for event in events])

    assert [(span["who"], span["start"], span["end"]) for span in found] == [("model", 0, 2), ("tool", 5, 6.5)]


def test_what_never_ended_lasts_until_the_last_thing_that_is_known() -> None:
    found = spans(at_seconds((0, start_event()), (1, RequestStarted(1)), (4, CallReady("c", "price", 1, "{}"))))

    assert [(span["start"], span["end"], span["state"]) for span in found] == [(1, 4, "")]


def test_a_clock_that_was_set_back_makes_no_stretch_negative() -> None:
    found = spans(at_seconds((0, start_event()), (5, RequestStarted(1)), (2, REPLY), (3, RequestStarted(2))))

    assert all(span["end"] >= span["start"] >= 0 for span in found)


def test_a_time_line_is_bounded() -> None:
    calls = [(float(at), CallStarted(str(at), BEGAN + at)) for at in range(10)]

    found = spans(at_seconds((0, start_event()), *calls), max_spans=3)

    assert len(found) == 4
    assert found[-1]["label"] == "… 7 stretches more"
