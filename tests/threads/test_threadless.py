from __future__ import annotations

import asyncio
import queue
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future

import pytest

from nbtool.errors import NbtoolError
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop, run_sync, wait_for_future
from nbtool.threads.threadless import (
    SharedLoop,
    SuspendedEvent,
    SuspendedQueue,
    Suspension,
    new_event,
    new_queue,
    result_of,
    suspension,
    suspension_of,
    wait_for_event,
)
from tests.one_thread import one_thread


@pytest.fixture
def suspended() -> Iterator[Suspension]:
    with one_thread() as chosen:
        yield chosen


def test_only_a_browser_has_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    can_wait = [True, False]
    ffi = types.SimpleNamespace(run_sync=lambda awaitable: awaitable, can_run_sync=can_wait.pop)
    monkeypatch.setitem(sys.modules, "pyodide", types.ModuleType("pyodide"))
    monkeypatch.setitem(sys.modules, "pyodide.ffi", ffi)  # type: ignore[arg-type]  # what is used of the module
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        chosen = suspension_of("emscripten")
    finally:
        asyncio.set_event_loop(None)
        loop.close()

    assert chosen
    assert chosen.loop is loop
    with pytest.raises(NbtoolError, match="cannot suspend Python"):
        chosen.wait(42)  # type: ignore[arg-type]  # nothing waits for it
    assert chosen.wait(42) == 42  # type: ignore[arg-type]  # the same
    assert suspension_of("linux") is None
    assert suspension() is None


def test_where_threads_exist_their_own_events_and_queues_are_used() -> None:
    assert type(new_event()) is threading.Event
    assert type(new_queue()) is queue.SimpleQueue

    event = new_event()
    asyncio.run(_set_meanwhile(event))  # type: ignore[arg-type]  # see above
    assert not asyncio.run(wait_for_event(threading.Event(), 0.01))


async def _set_meanwhile(event: threading.Event) -> None:
    waiting = asyncio.create_task(wait_for_event(event, 10))
    await asyncio.sleep(0)
    event.set()
    assert await waiting


def test_a_coroutine_runs_on_the_loop_that_is_there_while_its_caller_waits(suspended: Suspension) -> None:
    async def loop_of_this() -> asyncio.AbstractEventLoop:
        await asyncio.sleep(0.01)
        return asyncio.get_running_loop()

    assert run_sync(loop_of_this()) is suspended.loop


@pytest.mark.usefixtures("suspended")
def test_an_error_and_a_cancellation_reach_the_waiting_caller() -> None:
    async def fail() -> None:
        raise ValueError("bad")

    async def end_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(ValueError, match="bad"):
        run_sync(fail())
    with pytest.raises(CancelledError):
        run_sync(end_itself())


def test_cancelling_the_future_cancels_the_work(suspended: Suspension) -> None:
    ended = SuspendedEvent(suspended)

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = background_loop().submit(wait_for_ever())
    assert not background_loop().wait(future, 0.01)
    future.cancel()

    assert ended.wait(10)


def test_a_future_that_is_late_is_reported(suspended: Suspension) -> None:
    late: Future[int] = Future()
    with pytest.raises(TimeoutError):
        wait_for_future(late, 0.01)

    suspended.loop.call_soon(late.set_result, 3)
    assert wait_for_future(late, 10) == 3
    assert wait_for_future(late, 10) == 3


@pytest.mark.usefixtures("suspended")
def test_synchronous_work_runs_in_the_frames_of_the_waiting_caller() -> None:
    caller = CallerThread()

    async def turn() -> int:
        return await caller.run(lambda: run_sync(_answer())) + 1

    caller.attach()
    assert caller.run_until(background_loop().submit(turn())) == 43
    assert not caller.interrupt()


@pytest.mark.usefixtures("suspended")
def test_work_without_a_waiting_caller_runs_on_the_loop() -> None:
    assert run_sync(CallerThread().run(lambda: 42)) == 42


async def _answer() -> int:
    return 42


def test_a_queue_suspends_its_reader_until_an_item_comes(suspended: Suspension) -> None:
    items: SuspendedQueue[int] = new_queue()  # type: ignore[assignment]  # without threads it is this one
    with pytest.raises(queue.Empty):
        items.get(timeout=0.01)

    suspended.loop.call_soon(items.put, 1)
    suspended.loop.call_soon(items.put, 2)
    assert items.get() == 1
    assert items.get() == 2
    with pytest.raises(queue.Empty):
        items.get_nowait()


def test_a_result_is_waited_for_without_a_limit(suspended: Suspension) -> None:
    later: Future[int] = Future()
    suspended.loop.call_later(0.01, later.set_result, 3)

    assert result_of(later) == 3
    assert result_of(later) == 3


def test_an_event_can_be_reset(suspended: Suspension) -> None:
    event = new_event()
    event.set()
    assert event.wait(0)
    assert suspended.wait(wait_for_event(event, 0.01))

    event.clear()
    assert not event.is_set()
    assert not event.wait(0.01)


@pytest.mark.usefixtures("suspended")
def test_the_shared_loop_may_be_waited_for_from_anywhere() -> None:
    loop = background_loop()

    assert isinstance(loop, SharedLoop)
    assert not loop.is_current()
    assert "Restart the kernel" in loop.describe_blocked()


@pytest.mark.sampled(0)
def test_another_interpreter_without_threads_may_choose_too() -> None:
    code = (
        "import asyncio, threading; from nbtool.threads.threadless import Suspension, use_suspension;"
        "loop = asyncio.new_event_loop(); use_suspension(Suspension(loop, loop.run_until_complete));"
        "from nbtool import Chat; turn = Chat(model='practice:fast').send('Hello');"
        "print(threading.active_count(), turn.status); loop.close()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["1", "completed"]
