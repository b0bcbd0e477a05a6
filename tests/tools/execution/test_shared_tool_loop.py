from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from nbtool.threads.caller_thread import CallerLoop
from nbtool.threads.threadless import Suspension
from nbtool.tools.execution.async_loop import is_tool_loop_free, run_on_tool_loop
from tests.one_thread import one_thread


@pytest.fixture
def suspended() -> Iterator[Suspension]:
    with one_thread() as chosen:
        yield chosen


def test_async_work_runs_on_the_one_loop_and_its_error_is_its_outcome(suspended: Suspension) -> None:
    async def work() -> asyncio.AbstractEventLoop:
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    async def fail() -> None:
        raise SystemExit(3)

    outcome, blocker = suspended.wait(run_on_tool_loop(work, "work"))
    assert (outcome.value, blocker) == (suspended.loop, "")
    outcome, _ = suspended.wait(run_on_tool_loop(fail, "fail"))
    assert isinstance(outcome.error, SystemExit)


def test_cancelling_returns_when_the_work_has_ended(suspended: Suspension) -> None:
    ended: list[bool] = []
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    async def cancel_it() -> bool:
        running = asyncio.ensure_future(run_on_tool_loop(work, "work"))
        await started.wait()
        was_free = is_tool_loop_free(CallerLoop())
        running.cancel()
        outcome, _ = await running
        assert isinstance(outcome.error, asyncio.CancelledError)
        return was_free

    assert not suspended.wait(cancel_it())
    assert ended == [True]
    assert is_tool_loop_free(CallerLoop())
