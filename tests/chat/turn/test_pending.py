from __future__ import annotations

import asyncio

import pytest

from nbtool.chat.turn.pending import PendingQuestions
from nbtool.events import CallAsked, CallDecided, CallFinished, CallStarted, Event, TurnParked

QUESTION = CallAsked("c1", "run", "d1", "pay", "{}")
DECIDED = CallDecided("c1", "run", "d1", "approved", "button")
PARKED = TurnParked("d1", 2.0)
FINISHED = CallFinished("c1", "pay", 1, "ok", "3")
RESULT = CallAsked("c1", "result", "d2", "pay", "3")


def record_events(*events: Event) -> PendingQuestions:
    parking = PendingQuestions()
    for event in events:
        parking.record(event)
    return parking


@pytest.mark.parametrize(
    ("events", "status", "questions"),
    [
        ([], "running", ()),
        ([QUESTION], "waiting", ("d1",)),
        ([QUESTION, DECIDED], "running", ()),
        ([QUESTION, PARKED], "parked", ("d1",)),
        ([QUESTION, PARKED, DECIDED], "running", ()),
        ([QUESTION, PARKED, DECIDED, RESULT], "parked", ("d2",)),
        ([QUESTION, CallAsked("c2", "run", "d3", "pay", "{}"), DECIDED], "waiting", ("d3",)),
        ([QUESTION, CallFinished("c1", "pay", 1, "cancelled", "")], "running", ()),
    ],
)
def test_a_turn_waits_as_long_as_a_question_is_open(events: list[Event], status: str, questions: tuple[str]) -> None:
    parking = record_events(*events)

    assert (parking.status, parking.questions) == (status, questions)


@pytest.mark.parametrize(
    ("ended", "later"),
    [(FINISHED, True), (RESULT, True), (CallStarted("c2", 1.0, "worker"), False)],
)
def test_the_thread_is_free_when_the_call_on_it_has_ended(ended: Event, later: bool) -> None:
    parking = record_events(CallStarted("c1", 1.0, "main"))

    async def wait() -> bool:
        waiting = asyncio.ensure_future(parking.wait_thread_free())
        await asyncio.sleep(0)
        assert not waiting.done()
        parking.record(ended)
        await asyncio.wait({waiting}, timeout=5 if later else 0)
        return waiting.done() or not waiting.cancel()

    assert asyncio.run(wait()) is later


def test_calls_that_run_elsewhere_hold_nobody_up() -> None:
    asyncio.run(record_events(CallStarted("c1", 1.0, "worker"), CallStarted("c2", 1.0, "loop")).wait_thread_free())
