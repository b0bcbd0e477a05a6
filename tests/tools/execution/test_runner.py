# ruff: noqa: T201 - what a tool prints is the subject
from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from typing import Any

import pytest

from nbtool.errors import Cancelled
from nbtool.messages import ToolCall
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop, run_sync
from nbtool.threads.thread_pool import run_in_worker
from nbtool.tools import Progress, tool
from nbtool.tools.approval import Undecided
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.result import CANCELLED_RUN
from nbtool.tools.execution.runner import RunLimits
from nbtool.tools.execution.threads import CallerThreadRunner, WorkerThreadRunner
from nbtool.turn_state import Call
from tests.tools.calling import ToolHarness, ask_for, make_harness

SHOUT: ContextVar[str] = ContextVar("SHOUT", default="")


@tool(run="auto")
def double(n: int) -> int:
    """Twice."""
    return 2 * n


@tool(run="auto", result="always")
def secret_if_released() -> str:
    return "SECRET"


def test_synchronous_tools_run_on_the_caller_thread_and_asynchronous_ones_on_a_loop_of_their_own() -> None:
    @tool(run="auto")
    def here() -> str:
        return threading.current_thread().name

    @tool(run="auto", thread=True)
    def apart() -> str:
        return threading.current_thread().name

    @tool(run="auto")
    async def looped() -> str:
        return threading.current_thread().name

    harness = make_harness(here, apart, looped)
    records = harness.run_lent(ask_for("here"), ask_for("apart"), ask_for("looped"))

    assert [record.result for record in records] == [threading.main_thread().name, "nbtool-tool", "nbtool-async-tools"]
    assert sorted(event.thread for event in harness.of("call_started")) == ["loop", "main", "worker"]


def interrupted_caller() -> CallerThread:
    """Return a caller thread whose wait was interrupted between two jobs."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    caller = CallerThread()
    with pytest.raises(KeyboardInterrupt):
        caller.run_until(Future(), on_tick=interrupt)
    return caller


def test_a_job_that_follows_an_interrupt_does_not_start_in_a_worker() -> None:
    caller, ran_on = interrupted_caller(), list[threading.Thread]()
    job = background_loop().submit(caller.run(lambda: ran_on.append(threading.current_thread())))
    run_sync(asyncio.sleep(0))  # the loop has handed the job over
    caller.close()
    with pytest.raises(Cancelled):
        caller.run_until(job)

    assert (ran_on, caller.is_attached) == ([], False)


def test_a_thread_that_waits_again_after_an_interrupt_runs_the_jobs_of_the_time_between() -> None:
    caller, ran_on = interrupted_caller(), list[threading.Thread]()
    job = background_loop().submit(caller.run(lambda: ran_on.append(threading.current_thread())))
    run_sync(asyncio.sleep(0))
    caller.run_until(job)

    assert (ran_on, caller.is_attached) == ([threading.current_thread()], False)


def test_where_nobody_waits_a_synchronous_tool_runs_in_a_worker() -> None:
    harness = make_harness(tool(lambda: threading.current_thread().name, run="auto", name="where"))

    assert harness.run(ask_for("where")).result == "nbtool-tool"


@pytest.mark.parametrize("thread", [False, True])
def test_context_variables_reach_the_tool(thread: bool) -> None:
    harness = make_harness(tool(lambda: SHOUT.get(), run="auto", name="get", thread=thread))
    SHOUT.set("hello")
    try:
        (record,) = harness.run_lent(ask_for("get"))
    finally:
        SHOUT.set("")

    assert record.result == "hello"


def test_what_a_tool_prints_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    harness = make_harness(tool(lambda: print("in the cell"), run="auto", name="say"))
    (record,) = harness.run_lent(ask_for("say"))

    assert capsys.readouterr().out == "in the cell\n"
    assert record.shown == "None"


def test_a_plain_function_may_give_a_coroutine_or_a_generator() -> None:
    async def later() -> int:
        return 5

    harness = make_harness(
        tool(lambda: later(), run="auto", name="awaited"),
        tool(lambda: (part for part in ["a", "b"]), run="auto", name="stepped"),
    )

    assert harness.run(ask_for("awaited")).result == 5
    assert harness.run(ask_for("stepped")).result == "ab"


def test_generators_report_progress_and_give_their_result_by_return_or_by_yield() -> None:
    @tool(run="auto")
    def load() -> Iterator[Any]:
        yield Progress("half", 0.5)
        yield "part"
        yield Progress()
        return 42

    @tool(run="auto")
    def words() -> Iterator[str]:
        yield "one "
        yield "two"

    @tool(run="auto")
    async def numbers() -> AsyncIterator[int]:
        yield 1
        yield 2

    @tool(run="auto")
    async def nothing() -> AsyncIterator[Progress]:
        yield Progress("done", 1.0)

    harness = make_harness(load, words, numbers, nothing, run_limits=RunLimits(progress_interval=0))
    results = [harness.run(ask_for(name)).result for name in ("load", "words", "numbers", "nothing")]
    (stepped,) = harness.run_lent(ask_for("words"))

    assert results == [42, "one two", [1, 2], None]
    assert stepped.result == "one two"
    said = [(event.text, event.fraction) for event in harness.of("call_progress")]
    assert said[:3] == [("half\n", 0.5), ("part", 0.5), ("", 0.5)]


def test_fast_progress_is_joined_and_nothing_of_it_lost() -> None:
    @tool(run="auto")
    def many() -> Iterator[str]:
        for number in range(1000):
            yield f"{number},"

    harness = make_harness(many)
    record = harness.run(ask_for("many"))
    said = [event.text for event in harness.of("call_progress")]

    assert "".join(said) == record.result
    assert len(said) < 100


def test_an_endless_generator_is_stopped() -> None:
    @tool(run="auto")
    def endless() -> Iterator[int]:
        while True:
            yield 1

    record = make_harness(endless, run_limits=RunLimits(max_steps=10)).run(ask_for("endless"))

    assert (record.status, "10" in record.shown) == ("error", True)


def test_an_asynchronous_tool_past_its_deadline_is_stopped() -> None:
    stopped: list[bool] = []

    @tool(run="auto", timeout=0.05)
    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.append(True)

    record = make_harness(slow).run(ask_for("slow"))

    assert (record.status, "0.05 s" in record.shown, "running" in record.shown) == ("timed_out", True, False)
    assert stopped == [True]


def test_a_tool_on_the_caller_thread_past_its_deadline_is_interrupted_and_the_turn_goes_on() -> None:
    @tool(run="auto", timeout=0.1)
    def slow() -> None:
        while True:
            time.sleep(0.01)

    harness = make_harness(slow, double)
    (record,) = harness.run_lent(ask_for("slow"))
    (after,) = harness.run_lent(ask_for("double", n=1))

    assert (record.status, "0.1 s" in record.shown, "running" in record.shown) == ("timed_out", True, False)
    assert after.status == "ok"


def test_the_deadline_counts_from_when_the_tool_begins() -> None:
    @tool(run="auto", timeout=0.5)
    def slow() -> str:
        time.sleep(0.3)
        return "done"

    records = make_harness(slow).run_lent(*(ask_for("slow") for _ in range(3)))

    assert [record.status for record in records] == ["ok", "ok", "ok"]


def test_a_worker_past_its_deadline_is_reported_to_be_still_running_and_is_not_run_twice() -> None:
    release, runs = threading.Event(), []

    @tool(run="auto", thread=True)
    def slow(n: int) -> int:
        runs.append(n)
        release.wait(240)
        return n

    harness = make_harness(slow, timeout=0.05)

    async def work() -> list[Call]:
        first = await run_call(ask_for("slow", n=1), harness.runtime, round=1)
        again = await run_call(ask_for("slow", n=1), harness.runtime, round=1)
        release.set()
        await asyncio.gather(*harness.runtime.abandoned.values())
        await asyncio.sleep(0)
        later = await run_call(ask_for("slow", n=1), harness.runtime, round=2)
        return [first, again, later]

    first, again, later = asyncio.run(work())

    assert (first.status, "running" in first.shown) == ("timed_out", True)
    assert (again.status, runs) == ("not_run", [1, 1])
    assert "still running" in again.shown
    assert later.status == "ok"


def test_a_tool_that_swallows_being_cancelled_is_left_behind() -> None:
    @tool(run="auto", timeout=0.05)
    async def stubborn() -> None:
        for _ in range(2):
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                continue

    record = make_harness(stubborn, run_limits=RunLimits(stop_grace=0.05)).run(ask_for("stubborn"))

    assert (record.status, "running" in record.shown) == ("timed_out", True)


def cancelled_record(
    harness: ToolHarness, call: ToolCall, started: threading.Event, *, caller_thread: bool = False
) -> Call:
    """Run a call, cancel it as soon as it has begun, and give the record that is left of it."""

    async def work() -> str:
        task = asyncio.create_task(run_call(call, harness.runtime, round=1))
        await asyncio.to_thread(started.wait, 240)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return "cancelled"

    if caller_thread:
        future: Future[str] = harness.submit(work())
        assert harness.runtime.caller_thread.run_until(future) == "cancelled"
    else:
        assert asyncio.run(work()) == "cancelled"
    assert len(harness.of("call_finished")) == 1
    assert harness.of("call_finished")[0].status == harness.runtime.state.calls[0].status
    return harness.runtime.state.calls[0]


def test_a_cancelled_asynchronous_tool_is_stopped() -> None:
    started = threading.Event()

    @tool(run="auto")
    async def slow() -> None:
        started.set()
        await asyncio.sleep(30)

    record = cancelled_record(make_harness(slow), ask_for("slow"), started)

    assert (record.status, record.shown) == ("cancelled", CANCELLED_RUN)


def test_a_cancelled_tool_on_the_caller_thread_is_interrupted() -> None:
    started = threading.Event()

    @tool(run="auto")
    def slow() -> None:
        started.set()
        while True:
            time.sleep(0.01)

    start = time.monotonic()
    record = cancelled_record(make_harness(slow), ask_for("slow"), started, caller_thread=True)

    assert record.status == "cancelled"
    assert time.monotonic() - start < 20, "it never ends by itself"


def test_a_cancelled_tool_that_swallows_the_interrupt_still_ends_as_cancelled() -> None:
    started = threading.Event()

    @tool(run="auto")
    def deaf() -> str:
        started.set()
        try:
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            return "survived"

    record = cancelled_record(make_harness(deaf), ask_for("deaf"), started, caller_thread=True)

    assert record.status == "cancelled"


def test_a_cancelled_tool_that_cannot_be_reached_is_unknown_and_says_it_is_still_running() -> None:
    started, release = threading.Event(), threading.Event()

    @tool(run="auto", thread=True)
    def slow() -> None:
        started.set()
        release.wait(240)

    record = cancelled_record(make_harness(slow), ask_for("slow"), started)
    release.set()

    assert record.status == "unknown"
    assert "still running" in record.shown


def test_a_tool_on_a_caller_thread_that_no_signal_reaches_is_unknown() -> None:
    started, release = threading.Event(), threading.Event()

    @tool(run="auto")
    def slow() -> None:
        started.set()
        release.wait(240)

    harness = make_harness(slow)
    thread = threading.Thread(
        target=lambda: cancelled_record(harness, ask_for("slow"), started, caller_thread=True), name="not main"
    )
    thread.start()
    started.wait(240)
    assert harness.has_finished.wait(240)
    release.set()
    thread.join(240)

    assert harness.runtime.state.calls[0].status == "unknown"


def test_a_call_that_waits_for_the_caller_thread_is_cancelled_without_running() -> None:
    started, ran = threading.Event(), []

    @tool(run="auto")
    def first() -> None:
        started.set()
        while True:
            time.sleep(0.01)

    harness = make_harness(first, tool(lambda: ran.append(1), run="auto", name="second"))

    async def work() -> list[Any]:
        tasks = [asyncio.create_task(run_call(ask_for(name), harness.runtime, round=1)) for name in ("first", "second")]
        await asyncio.to_thread(started.wait, 240)
        for task in reversed(tasks):
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = harness.runtime.caller_thread.run_until(harness.submit(work()))

    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    assert ran == []


def test_a_person_who_interrupts_a_tool_cancels_the_turn() -> None:
    harness = make_harness(tool(lambda: (_ for _ in ()).throw(KeyboardInterrupt), run="auto", name="interrupted"))

    async def work() -> None:
        await run_call(ask_for("interrupted"), harness.runtime, round=1)

    future = harness.submit(work())
    with pytest.raises(KeyboardInterrupt):
        harness.runtime.caller_thread.run_until(future)
    with pytest.raises(CancelledError):
        future.result(240)
    assert harness.runtime.state.calls[0].status == "cancelled"
    assert harness.of("call_finished")[0].status == "cancelled"


def test_a_turn_cancelled_while_a_result_waits_says_that_the_tool_ran() -> None:
    started = threading.Event()
    harness = make_harness(secret_if_released, approver=lambda _: started.set() or Undecided())
    record = cancelled_record(harness, ask_for("secret_if_released"), started)

    assert record.status == "cancelled"
    assert "cancelled" in record.shown
    assert harness.runtime.approvals.pending() == ()


def test_work_that_was_stopped_before_its_turn_is_not_started() -> None:
    started: list[str] = []
    place = CallerThreadRunner(CallerThread())
    place.on_start = lambda: started.append("begun")

    assert place.stop() == "idle"
    assert isinstance(place._run_guarded(lambda: started.append("worked")).error, KeyboardInterrupt)
    assert started == []


def test_a_runner_has_started_once_work_began_and_not_when_it_was_refused() -> None:
    async def starts() -> list[bool]:
        idle, used, stopped = (WorkerThreadRunner() for _ in range(3))
        await used.run(lambda: 1)
        stopped.stop()
        await stopped.run(lambda: 2)
        return [idle.has_started, used.has_started, stopped.has_started]

    assert asyncio.run(starts()) == [False, True, False]


def test_only_work_that_comes_after_the_stop_is_refused() -> None:
    async def stopped() -> tuple[Any, ...]:
        place = WorkerThreadRunner()
        first, has_refused = await place.run(lambda: 1), place.has_refused
        place.stop()
        second = await place.run(lambda: 2)
        return first.value, has_refused, type(second.error), place.has_refused

    assert asyncio.run(stopped()) == (1, False, KeyboardInterrupt, True)


def test_work_in_a_thread_that_nobody_waits_for_any_more_ends_by_itself() -> None:
    async def forgotten() -> bool:
        goes_on, ended = threading.Event(), asyncio.Event()
        future = run_in_worker(goes_on.wait, on_done=ended.set)
        future.cancel()
        goes_on.set()
        await asyncio.wait_for(ended.wait(), 240)
        return future.cancelled()

    assert asyncio.run(forgotten())


def stopped_records(harness: ToolHarness, *calls: ToolCall, started: threading.Event) -> list[Call]:
    """Run calls side by side, stop the first as soon as it has begun, and give the records of all."""

    async def work() -> list[Call]:
        running = [asyncio.ensure_future(run_call(call, harness.runtime, round=1)) for call in calls]
        await asyncio.to_thread(started.wait, 240)
        assert harness.runtime.stops.stop(calls[0].call_id)
        return list(await asyncio.gather(*running))

    return asyncio.run(work())


def test_a_call_that_a_person_stops_ends_alone_and_the_model_reads_who_stopped_it() -> None:
    started, ended = threading.Event(), []

    @tool(run="auto")
    async def endless() -> None:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(True)

    harness = make_harness(endless, double)
    stopped, other = stopped_records(harness, ask_for("endless"), ask_for("double", n=2), started=started)

    assert (stopped.status, "running" in stopped.shown) == ("stopped", False)
    assert ended == [True]
    assert (other.status, other.result) == ("ok", 4)
    assert {event.status for event in harness.of("call_finished")} == {"stopped", "ok"}


def test_a_synchronous_tool_on_the_caller_thread_is_interrupted_and_its_next_call_runs() -> None:
    started, steps = threading.Event(), []

    @tool(run="auto")
    def endless() -> None:
        started.set()
        while True:
            steps.append(1)
            time.sleep(0.01)

    harness = make_harness(endless, double)
    call = ask_for("endless")

    def stop() -> None:
        started.wait(240)
        background_loop().call_soon(lambda: harness.runtime.stops.stop(call.call_id))

    stopper = threading.Thread(target=stop)
    stopper.start()
    (record,) = harness.run_lent(call)
    stopper.join()
    (after,) = harness.run_lent(ask_for("double", n=1))
    count = len(steps)

    assert (record.status, "running" in record.shown) == ("stopped", False)
    assert after.status == "ok"
    assert len(steps) == count


def test_a_worker_that_cannot_be_interrupted_is_reported_to_still_run() -> None:
    started, release = threading.Event(), threading.Event()

    @tool(run="auto", thread=True)
    def deaf() -> None:
        started.set()
        release.wait(240)

    harness = make_harness(deaf)
    (record,) = stopped_records(harness, ask_for("deaf"), started=started)
    release.set()

    assert record.status == "stopped"
    assert "running" in record.shown


def test_a_call_that_does_not_run_cannot_be_stopped() -> None:
    harness = make_harness(double)
    call = ask_for("double", n=1)
    before = harness.runtime.stops.stop(call.call_id)
    record = harness.run(call)

    assert (before, harness.runtime.stops.stop(call.call_id), harness.runtime.stops.stop("call_forged")) == (False,) * 3
    assert record.status == "ok"
