"""A thread that waits for a turn: whatever comes after an interrupt does not run, there or elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.chat import wait_for_turn
from nbtool.errors import Cancelled
from nbtool.testing import ScriptedWire, call
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop
from nbtool.tools.execution.runner import runner_for
from nbtool.tools.tool import as_tools

SECONDS = 15


class Caught:
    """An interrupt that the user's code has caught: it is raised by the next tick, once."""

    def __init__(self) -> None:
        self.is_pending = False

    def tick(self) -> None:
        if self.is_pending:
            self.is_pending = False
            raise KeyboardInterrupt


def start(thread: CallerThread, work: Callable[[], Any]) -> Future[Any]:
    """Hand work to a thread, and return when it is in its queue or has been refused."""

    async def hand_over() -> Any:
        return await thread.run(work)

    future = background_loop().submit(hand_over())
    background_loop().submit(_nothing()).result(SECONDS)
    return future


async def _nothing() -> None:
    """Let what was submitted before reach its first wait."""


@pytest.mark.promise("stops")
def test_a_thread_that_was_closed_starts_no_work_anywhere_though_nobody_waits() -> None:
    thread, ran = CallerThread(), list[str]()
    thread.close()

    late = start(thread, lambda: ran.append("late"))

    assert isinstance(late.exception(SECONDS), Cancelled)
    assert ran == []
    [plain] = as_tools(tool(lambda: "", name="plain"))
    assert runner_for(plain, thread).name == "main", "it is refused there"


@pytest.mark.promise("stops")
def test_work_that_was_queued_before_an_interrupt_is_refused_once_the_thread_waits_again() -> None:
    thread, caught, ran, over = CallerThread(), Caught(), list[str](), Future[None]()
    works: list[Future[Any]] = []

    def begin() -> None:
        works.append(start(thread, lambda: setattr(caught, "is_pending", True)))
        works.append(start(thread, lambda: ran.append("second")))

    with pytest.raises(KeyboardInterrupt):
        thread.run_until(over, on_tick=caught.tick, on_start=begin)
    thread.close()
    works[1].add_done_callback(lambda _: over.set_result(None))
    thread.run_until(over, seconds=SECONDS)

    assert works[0].result(SECONDS) is None
    assert isinstance(works[1].exception(SECONDS), Cancelled)
    assert ran == []


@pytest.mark.promise("stops")
def test_an_interrupt_that_is_caught_between_two_polls_stops_the_work_that_follows() -> None:
    thread, caught, ran = CallerThread(), Caught(), list[str]()
    thread.attach()
    first = start(thread, lambda: ran.append("first"))
    polls = iter([False, True])

    def tick() -> None:
        caught.is_pending = next(polls)  # caught after the poll before the job was taken
        caught.tick()

    with pytest.raises(KeyboardInterrupt):
        thread.run_until(Future[None](), on_tick=tick)

    assert isinstance(first.exception(SECONDS), Cancelled)
    assert ran == []


@pytest.mark.promise("stops")
def test_an_interrupt_that_is_caught_as_the_thread_is_let_go_is_raised() -> None:
    thread, caught, over = CallerThread(), Caught(), Future[None]()
    thread.attach()

    def end() -> None:
        caught.is_pending = True
        over.set_result(None)

    start(thread, end)
    with pytest.raises(KeyboardInterrupt):
        thread.run_until(over, on_tick=caught.tick)
    assert thread.is_attached, "what comes now waits for the stop of the turn"


def test_what_a_poll_stops_does_not_start() -> None:
    thread, ran, over = CallerThread(), list[str](), Future[None]()
    thread.attach()
    work = start(thread, lambda: ran.append("work"))
    work.add_done_callback(lambda _: over.set_result(None))

    thread.run_until(over, on_tick=thread.close)

    assert isinstance(work.exception(SECONDS), Cancelled)
    assert ran == []


@pytest.mark.promise("stops")
def test_a_call_that_comes_while_its_turn_is_being_stopped_does_not_run_and_says_so() -> None:
    threads: list[str] = []
    caught = Caught()

    @tool(run="auto")
    def first() -> str:
        """Catch an interrupt."""
        caught.is_pending = True
        return "caught"

    @tool(run="auto")
    def second() -> str:
        """Say where it runs."""
        threads.append(threading.current_thread().name)
        return "ran"

    wire = ScriptedWire([[call("first"), call("second")], "Done."])
    turn = Chat(wire=wire, tools=[first, second]).compose("Go")
    with suppress(KeyboardInterrupt):
        wait_for_turn(turn, on_tick=caught.tick)

    assert threads == []
    assert (turn.calls[1].name, turn.calls[1].status, turn.status) == ("second", "not_run", "cancelled")
