"""While a turn is stopped, threads that compute give way sooner; afterwards the interval is what it was."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.turn.thread_switching import STOP_INTERVAL, switch_sooner_until
from nbtool.events import Event
from nbtool.testing import ScriptedWire, call

USUAL = 0.004


@pytest.fixture(autouse=True)
def _usual_interval() -> Iterator[None]:
    former = sys.getswitchinterval()
    sys.setswitchinterval(USUAL)
    yield
    sys.setswitchinterval(former)


@pytest.mark.promise("stops")
def test_a_turn_is_stopped_while_threads_give_way_sooner() -> None:
    running, may_end, intervals = threading.Event(), threading.Event(), list[float]()

    @tool(run="auto", thread=True)
    def compute() -> None:
        """Compute until the test ends."""
        running.set()
        while not may_end.is_set():
            pass

    def watch(event: Event) -> None:
        if event.kind == "turn_ended":
            intervals.append(sys.getswitchinterval())

    turn = Chat(wire=ScriptedWire([call("compute")]), tools=[compute]).start("Go.")
    turn.add_listener(watch)
    running.wait()
    before = sys.getswitchinterval()
    turn.cancel()
    turn.cancel()
    wait([turn.done])
    may_end.set()

    assert (before, intervals) == (pytest.approx(USUAL), [pytest.approx(STOP_INTERVAL)])
    assert sys.getswitchinterval() == pytest.approx(USUAL)


def test_the_interval_is_restored_after_the_last_of_several_stops() -> None:
    first, second = Future[Any](), Future[Any]()
    switch_sooner_until(first)
    switch_sooner_until(second)
    first.set_result(None)
    assert sys.getswitchinterval() == pytest.approx(STOP_INTERVAL)
    second.set_result(None)
    assert sys.getswitchinterval() == pytest.approx(USUAL)


@pytest.mark.parametrize("own", [0.0001, 0.02])
def test_an_interval_that_somebody_else_sets_meanwhile_stays(own: float) -> None:
    done = Future[Any]()
    switch_sooner_until(done)
    sys.setswitchinterval(own)
    done.set_result(None)
    assert sys.getswitchinterval() == pytest.approx(own)


def test_a_turn_that_never_began_changes_nothing() -> None:
    Chat(wire=ScriptedWire([])).compose("Go.").cancel()
    assert sys.getswitchinterval() == pytest.approx(USUAL)
