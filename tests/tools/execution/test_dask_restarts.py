"""A call at an executor of Dask starts at most once, although Dask itself runs the work of a lost worker again."""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from nbtool import tool
from nbtool.tools.execution.dask_ticket import is_dask
from nbtool.tools.tool import TOOL_ATTRIBUTE
from tests.tools.calling import ask_for, make_harness

cloudpickle = pytest.importorskip("cloudpickle")

PAID: list[int] = []
"""What was paid, in any run."""


def pay(n: int) -> int:
    PAID.append(n)
    return n


def divide(n: int) -> float:
    return n / 0


@dataclass
class Scheduler:
    """Stands for a scheduler and its queues, each of which is there until nobody has it open."""

    queues: dict[str, SimpleQueue[bool]] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    is_gone: bool = False
    before_get: Callable[[], object] = lambda: None


class Queue:
    """Stands for a queue of Dask, as its own documentation has it."""

    def __init__(self, name: str, client: Scheduler) -> None:
        self.name, self.scheduler = name, client
        self.items = client.queues.setdefault(name, SimpleQueue())
        client.users[name] = client.users.get(name, 0) + 1

    def put(self, item: bool) -> None:
        self.items.put(item)

    def qsize(self) -> int:
        return self.items.qsize()

    def get(self, timeout: float) -> bool:  # noqa: ARG002 - nobody puts in another one, so nothing is waited for
        self.scheduler.before_get()
        try:
            return self.items.get_nowait()
        except Empty:
            raise TimeoutError from None

    def close(self) -> None:
        if self.scheduler.is_gone:
            raise OSError("the client is closed")
        self.scheduler.users[self.name] -= 1
        if not self.scheduler.users[self.name]:
            del self.scheduler.queues[self.name]


class WorkerUnpickler(pickle.Unpickler):
    """Reads what is sent where nbtool is not installed."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "nbtool":
            raise ModuleNotFoundError(module)
        return super().find_class(module, name)


class ClientExecutor(Executor):
    """Stands for an executor of Dask that runs the work so many times, and returns what the last run did."""

    def __init__(self, scheduler: Scheduler, runs: int = 1, **options: Any) -> None:
        self._client, self._runs, self._kwargs = scheduler, runs, options

    def submit(self, function: Any, /, *_: Any, **__: Any) -> Any:
        sent = cloudpickle.dumps(function)
        future: Future[Any] = Future()
        for _run in range(self._runs):
            result = run_sent(sent)
        future.set_result(result)
        return future


ClientExecutor.__module__ = "distributed.cfexecutor"


def run_sent(sent: bytes) -> Any:
    return WorkerUnpickler(io.BytesIO(sent)).load()()


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    made = Scheduler()
    module = types.ModuleType("distributed")
    module.Queue, module.get_client = Queue, lambda: made  # type: ignore[attr-defined]  # a stand-in of it
    monkeypatch.setitem(sys.modules, "distributed", module)
    PAID.clear()
    for function in (pay, divide):  # a tool of another test is sent with the options that it had there
        vars(function).pop(TOOL_ATTRIBUTE, None)
    return made


def test_a_call_runs_where_nbtool_is_not_installed_and_leaves_no_queue(scheduler: Scheduler) -> None:
    record = make_harness(tool(pay, run="auto", executor=ClientExecutor(scheduler))).run(ask_for("pay", n=3))

    assert (record.status, record.result, PAID) == ("ok", 3, [3])
    assert scheduler.users != {}
    assert scheduler.queues == {}


def test_a_call_whose_worker_was_lost_is_not_run_again_and_its_outcome_is_unknown(scheduler: Scheduler) -> None:
    record = make_harness(tool(pay, run="auto", executor=ClientExecutor(scheduler, 2))).run(ask_for("pay", n=3))

    assert (record.status, record.result, PAID) == ("unknown", None, [3])
    assert "Dask" in record.shown
    assert scheduler.queues == {}


def test_of_two_runs_at_one_time_only_one_starts(scheduler: Scheduler) -> None:
    class TwoWorkers(ClientExecutor):
        def submit(self, function: Any, /, *_: Any, **__: Any) -> Any:
            sent = cloudpickle.dumps(function)

            def other_run() -> None:
                scheduler.before_get = lambda: None
                others.append(run_sent(sent))

            scheduler.before_get = other_run  # the first one has seen that it may start
            return super().submit(function)

    others: list[Any] = []
    record = make_harness(tool(pay, run="auto", executor=TwoWorkers(scheduler))).run(ask_for("pay", n=3))

    assert (record.status, PAID) == ("unknown", [3])
    assert others == [(True, 3)]


def test_an_error_of_the_tool_is_that_of_the_call(scheduler: Scheduler) -> None:
    class Failing(ClientExecutor):
        def submit(self, function: Any, /, *_: Any, **__: Any) -> Any:
            future: Future[Any] = Future()
            try:
                future.set_result(run_sent(cloudpickle.dumps(function)))
            except ZeroDivisionError as error:
                future.set_exception(error)
            return future

    harness = make_harness(tool(divide, run="auto", executor=Failing(scheduler)))
    record = harness.run(ask_for("divide", n=1))

    assert (record.status, record.shown.partition(":")[0]) == ("error", "ZeroDivisionError")
    assert scheduler.queues == {}


def test_a_result_arrives_although_the_client_was_closed_meanwhile(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    class Closing(ClientExecutor):
        def submit(self, function: Any, /, *_: Any, **__: Any) -> Any:
            future = super().submit(function)
            scheduler.is_gone = True
            return future

    record = make_harness(tool(pay, run="auto", executor=Closing(scheduler))).run(ask_for("pay", n=3))

    assert (record.status, record.result) == ("ok", 3)
    assert [one for one in caplog.records if one.name == "concurrent.futures"] == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ClientExecutor(Scheduler()), True),
        (lambda: ClientExecutor(Scheduler(), retries=0), True),
        (lambda: ClientExecutor(Scheduler(), retries=2), False),  # then a person wants it to run again
        (lambda: type("Own", (ClientExecutor,), {})(Scheduler()), True),
        (lambda: ThreadPoolExecutor(1), False),
        (lambda: type("ClientExecutor", (Executor,), {"__module__": "elsewhere"})(), False),
    ],
)
def test_only_an_executor_of_dask_that_has_no_retries_is_one(make: Callable[[], Executor], expected: bool) -> None:
    assert is_dask(make()) is expected
