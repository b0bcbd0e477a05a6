"""A call that waits behind other work after its approval is compared once more where it starts."""

from __future__ import annotations

import asyncio
import functools
import inspect
import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from nbtool import tool
from nbtool.events import Event
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import Approved, Decision, Question
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.execution import executors, threads
from nbtool.tools.execution.async_loop import run_on_tool_loop
from nbtool.tools.execution.start_check import ChangedBeforeStart, CheckedFunction
from nbtool.turn_state import Call
from tests.tools import far
from tests.tools.calling import ToolHarness, ask_for, make_harness

pytestmark = pytest.mark.promise("shown-is-run")

BEHIND = {"main": "caller_thread", "executor": "thread_pool", "async": "async_loop"}
STARTS_AT_ONCE = {"worker"}


class Queue:
    """Work ahead of a call; once the call has been compared and handed over, `change` is made and the work ends."""

    def __init__(self, change: Callable[[], object], pool: Executor) -> None:
        self.change, self.pool = change, pool
        self.is_ahead, self.may_end = threading.Event(), threading.Event()
        self.ahead: list[asyncio.Future[Any] | Future[Any]] = []

    def wait(self) -> None:
        self.is_ahead.set()
        assert self.may_end.wait(240)

    def occupy(self, way: str, harness: ToolHarness) -> None:
        match way:
            case "caller_thread":
                self.ahead.append(asyncio.ensure_future(harness.runtime.caller_thread.run(self.wait)))
            case "thread_pool":
                self.ahead.append(self.pool.submit(self.wait))
            case "async_loop":
                work = functools.partial(asyncio.to_thread, self.wait)
                self.ahead.append(asyncio.ensure_future(run_on_tool_loop(work, "ahead")))

    async def emit(self, event: Event) -> None:
        if event.kind == "call_started":
            self.change()
            self.may_end.set()


async def approve(_: Question) -> Decision:
    return Approved()


def run_behind(way: str, queue: Queue, harness: ToolHarness, name: str) -> Call:
    async def work() -> Call:
        queue.occupy(way, harness)
        await asyncio.to_thread(queue.is_ahead.wait, 240)
        return await run_call(ask_for(name, order="$VAR_REF{{order}}"), harness.runtime, round=1)

    harness.runtime.emit = harness.runtime.state.recorded(queue.emit)
    harness.runtime.caller_thread.attach()
    return harness.runtime.caller_thread.run_until(background_loop().submit(work()))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads_of_a_pool:
        yield threads_of_a_pool


@pytest.mark.parametrize("way", BEHIND.values())
@pytest.mark.parametrize("changed", ["object", "tool", "nothing"])
def test_a_call_behind_other_work_runs_only_as_it_was_approved(way: str, changed: str, pool: Executor) -> None:
    order, rate, paid = {"to": "alice"}, [1], []
    changes = {"object": lambda: order.update(to="mallory"), "tool": lambda: rate.append(2), "nothing": lambda: None}

    def pay(order: dict[str, str]) -> str:
        paid.append(f"{order['to']} {rate}")
        return "paid"

    async def pay_async(order: dict[str, str]) -> str:
        return pay(order)

    function = pay_async if way == "async_loop" else tool(pay, executor=pool if way == "thread_pool" else None)
    harness = make_harness(function, notebook={"order": order}, expose=["order"], approver=approve)
    paid.append("earlier")  # the tool's own run changes this list, which requires no approval

    record = run_behind(way, Queue(changes[changed], pool), harness, function.__name__)

    assert (record.status, paid[1:]) == (("ok", ["alice [1]"]) if changed == "nothing" else ("not_run", []))


def test_a_call_of_another_process_is_compared_when_its_objects_are_pickled(pool: Executor) -> None:
    order = {"to": "alice"}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        harness = make_harness(
            tool(far.text_of, executor=processes), notebook={"order": order}, expose=["order"], approver=approve
        )
        queue = Queue(lambda: order.update(to="mallory"), pool)
        harness.runtime.emit = harness.runtime.state.recorded(queue.emit)
        call = ask_for("text_of", thing="$VAR_REF{{order}}")
        assert (harness.run(call).status, harness.run(call).status) == ("not_run", "ok")  # the second sees it as it is


def test_a_checked_function_is_pickled_as_the_function_alone() -> None:
    is_unchanged = [True]
    checked = CheckedFunction(functools.partial(far.text_of, "x"), is_unchanged.pop)

    assert type(pickle.loads(pickle.dumps(checked))) is functools.partial
    is_unchanged.append(False)
    with pytest.raises(ChangedBeforeStart):
        pickle.dumps(checked)


def test_every_runner_has_a_row() -> None:
    modules = (threads, executors)
    runners = [cls for module in modules for _, cls in inspect.getmembers(module, inspect.isclass)]
    names = {cls.name for cls in runners if cls.__name__.endswith("Runner") and hasattr(cls, "name")}

    assert names | {"async"} == BEHIND.keys() | STARTS_AT_ONCE
