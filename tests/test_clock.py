"""Durations and deadlines while a library of tests stops or moves the clock."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.clock import monotonic, new_event_loop
from nbtool.testing import ScriptedWire, call
from tests.stopped_clock import stop_clock


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock."""
    stop_clock(monkeypatch)


@tool(run="auto")
def count(n: int) -> int:
    "Count to a number."
    return sum(range(n))


async def hang() -> str:
    "Never end."
    await asyncio.Event().wait()
    return "never"


@pytest.mark.usefixtures("stopped_clock")
def test_a_turn_takes_as_long_as_it_takes_while_the_clock_is_stopped() -> None:
    before = monotonic()
    with ScriptedWire([[call("count", n=300_000)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[count]).send("Go")
    limit = monotonic() - before

    assert time.time() == 1_700_000_000.0
    assert 0 < turn.stats.seconds <= limit
    assert 0 < turn.calls[0].seconds <= limit


@pytest.mark.usefixtures("stopped_clock")
@pytest.mark.promise("bounded")
def test_time_limits_are_reached_while_the_clock_is_stopped() -> None:
    with ScriptedWire([[call("hang")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(hang, run="auto", timeout=0.2)]).send("Go")
    with ScriptedWire([[call("hang")]]) as wire:
        whole = Chat(wire=wire, tools=[tool(hang, run="auto")]).send(
            "Go", settings=TurnSettings(limits=Limits(seconds=0.2))
        )

    assert turn.calls[0].status == "timed_out"
    assert whole.status == "timeout"


def test_a_tool_that_moves_the_clock_back_took_no_time_less_than_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def turn_back() -> int:
        "Turn the clock back."
        monkeypatch.setattr(time, "time", lambda: 1_000.0)
        return sum(range(300_000))

    with ScriptedWire([[call("turn_back")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(turn_back, run="auto")]).send("Go")

    assert 0 < turn.calls[0].seconds < turn.stats.seconds


def test_the_clock_is_that_of_the_system() -> None:
    assert abs(monotonic() - time.monotonic()) < 1


def test_a_loop_of_another_kind_keeps_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    other: Any = object()
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: other)

    assert new_event_loop() is other
