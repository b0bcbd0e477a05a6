from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from nbtool.chat.turn.waiting_time import WaitingTime
from nbtool.clock import monotonic
from nbtool.events import CallAsked, CallDecided, CallFinished, CallReady, CallStarted, Event, TurnParked
from nbtool.turn_state import TurnState

QUESTION = CallAsked("c1", "run", "d1", "pay", "{}")
DECIDED = CallDecided("c1", "run", "d1", "approved", "button")
PARKED = TurnParked("d1", 2.0)
FINISHED = CallFinished("c1", "pay", 1, "ok", "3")
RESULT = CallAsked("c1", "result", "d2", "pay", "3")


def started(clock: Callable[[], float] = monotonic, state: TurnState | None = None) -> WaitingTime:
    """Return the time of a turn with two calls."""
    waiting = WaitingTime(state or TurnState(), clock)
    for call_id in ("c1", "c2"):
        waiting.apply(CallReady(call_id, "pay", 1, "{}"))
    return waiting


def record_events(*events: Event, state: TurnState | None = None) -> WaitingTime:
    parking = started(state=state)
    for event in events:
        parking.apply(event)
    return parking


def test_only_the_time_in_which_no_call_runs_is_waited_for_the_person() -> None:
    now = [0.0]
    parking = started(lambda: now[0])
    other = CallAsked("c2", "run", "d3", "pay", "{}")
    timed: list[tuple[float, Event]] = [
        (1, QUESTION), (3, other), (4, DECIDED), (6, CallStarted("c1", 6.0)), (9, FINISHED),
        (10, CallDecided("c2", "run", "d3", "denied", "button")), (20, CallFinished("c2", "pay", 1, "denied", "")),
    ]  # fmt: skip
    waited = []
    for now[0], event in timed:
        parking.apply(event)
        waited.append(parking.waited)

    assert waited == [0, 2, 3, 5, 5, 6, 6]


def test_the_time_in_which_nobody_can_be_asked_yet_is_not_waited_for_the_person() -> None:
    now = [0.0]
    parking = started(lambda: now[0])
    parking.apply(QUESTION)
    now[0] = 1
    with parking.preparing():
        now[0] = 11
        assert parking.waited == 1
    now[0] = 13

    assert parking.waited == 3


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
    state = TurnState()
    record_events(*events, state=state)

    assert (state.status, tuple(state.questions)) == (status, questions)


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
        parking.apply(ended)
        await asyncio.wait({waiting}, timeout=5 if later else 0)
        return waiting.done() or not waiting.cancel()

    assert asyncio.run(wait()) is later


def test_calls_that_run_elsewhere_hold_nobody_up() -> None:
    asyncio.run(record_events(CallStarted("c1", 1.0, "worker"), CallStarted("c2", 1.0, "loop")).wait_thread_free())


def test_what_nobody_could_see_is_nobodys_time() -> None:
    now = [0.0]
    parking = started(lambda: now[0])

    parking.apply(CallAsked("c1", "run", "d1", "pay", "{}"))
    with parking.preparing(), parking.preparing():  # two questions wait for one page
        now[0] = 10.0
    now[0] = 12.0
    with parking.preparing():
        parking.apply(CallDecided("c1", "run", "d1", "approved", "button"))
        now[0] = 20.0  # nothing waits: the turn's own time

    assert (parking.unshown, parking.waited) == (10.0, 2.0)
