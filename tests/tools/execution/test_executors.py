from __future__ import annotations

import asyncio
import functools
import multiprocessing
import os
import pickle
import selectors
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import tool
from nbtool.errors import BadUsage
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Policy
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.execution.executors import ExecutorRunner, _explain_pickle_error, _find_unpicklable
from nbtool.tools.tool import Options, as_tools
from nbtool.turn_state import Call
from tests.tools import far
from tests.tools.calling import ToolHarness, ask_for, make_harness


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, "pool") as pool:
        yield pool


@pytest.fixture
def notebook_function() -> Iterator[Callable[..., Any]]:
    """Define a function as a cell does: in `__main__`, where no other process can import it from."""
    main = types.ModuleType("__main__")
    source = "import os\ndef where(n: int = 0) -> list:\n    return [os.getpid(), n + offset]\noffset = 1\n"
    exec(compile(source, "<cell>", "exec"), main.__dict__)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    yield main.where
    sys.modules["__main__"] = before


def mark_signal(path: Path) -> Callable[[], bool]:
    """Make the mark of `far.slow` a pipe; what is given waits until the function has written it, in any process."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait() -> bool:
        with selectors.DefaultSelector() as selector:  # select() takes no descriptor above 1,023
            selector.register(reader, selectors.EVENT_READ)
            is_written = bool(selector.select(10))
        os.close(reader)
        return is_written

    return wait


def cancelled(harness: ToolHarness, call: Any, started: Callable[[], bool]) -> Call:
    """Run a call, cancel it as soon as it has begun, and give the record that is left of it."""

    async def work() -> None:
        task = asyncio.create_task(run_call(call, harness.runtime, round=1))
        assert await asyncio.to_thread(started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_sync(work())
    return harness.runtime.state.calls[0]


def test_a_call_runs_at_a_pool_of_threads(threads: ThreadPoolExecutor) -> None:
    harness = make_harness(tool(lambda: threading.current_thread().name, name="where", run="auto", executor=threads))
    record = harness.run(ask_for("where"))

    assert (record.status, record.result) == ("ok", "pool_0")
    assert harness.of("call_started")[0].thread == "executor"


def test_a_call_runs_in_another_process(processes: ProcessPoolExecutor) -> None:
    harness = make_harness(tool(far.where, run="auto", executor=processes))
    (record,) = harness.run_lent(ask_for("where", n=3))

    assert record.status == "ok"
    assert record.result[0] != os.getpid()
    assert record.result[1] == 3


def test_what_cannot_be_pickled_is_one_clear_line(processes: ProcessPoolExecutor) -> None:
    notebook = {"lock": threading.Lock()}

    def local(n: int = 0) -> int:
        return n

    harness = make_harness(
        tool(far.where, run="auto", executor=processes, name="where"),
        tool(far.text_of, run="auto", executor=processes),
        tool(local, run="auto", executor=processes),
        tool(far.broken, run="auto", executor=processes),
        notebook=notebook,
        expose=["lock"],
    )
    argument = harness.run(ask_for("text_of", thing="$VAR_REF{{lock}}"))
    function = harness.run(ask_for("local"))
    result = harness.run(ask_for("broken"))
    after = harness.run(ask_for("where"))

    assert "'thing' (lock)" in argument.shown
    assert "function" in function.shown
    assert "return value" in result.shown
    assert after.status == "ok"


def test_a_call_that_waits_for_its_pool_is_cancelled_for_good(threads: ThreadPoolExecutor) -> None:
    release, ran = threading.Event(), []
    busy = threads.submit(release.wait, 240)
    harness = make_harness(tool(lambda: ran.append(1), name="wait", run="auto", executor=threads, timeout=0.2))
    record = harness.run(ask_for("wait"))
    release.set()
    busy.result(240)
    threads.shutdown()

    assert (record.status, "0.2 s" in record.shown, "running" in record.shown) == ("timed_out", True, False)
    assert ran == []


def test_a_call_past_its_deadline_is_reported_to_be_still_running(
    processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    harness = make_harness(tool(far.slow, run="auto", executor=processes, timeout=2))
    record = harness.run(ask_for("slow", mark=str(tmp_path / "mark"), seconds=3))

    assert (tmp_path / "mark").exists()
    assert (record.status, "2 s" in record.shown, "still running" in record.shown) == ("timed_out", True, True)


def test_a_cancelled_call_that_runs_in_a_pool_is_unknown(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    harness = make_harness(tool(far.slow, run="auto", executor=threads))
    record = cancelled(harness, ask_for("slow", mark=str(mark), seconds=0.5), mark_signal(mark))

    assert record.status == "unknown"
    assert "still" in record.shown  # and perhaps only perhaps, where the pool had not yet said that it took the call


def test_an_executor_that_says_cancelled_of_what_may_run_is_not_believed(tmp_path: Path) -> None:
    class Cluster(Executor):
        """Stands for a cluster: its futures can be cancelled, and what they stand for runs on."""

        def submit(self, function: Any, /, *args: Any, **keywords: Any) -> Any:
            threading.Thread(target=function, args=args, kwargs=keywords, daemon=True).start()
            return Future()

    mark = tmp_path / "mark"
    late = make_harness(tool(far.slow, run="auto", executor=Cluster(), timeout=0.1))
    stopped = make_harness(tool(far.slow, run="auto", executor=Cluster()))
    timed_out = late.run(ask_for("slow", mark=str(tmp_path / "late"), seconds=0.3))
    record = cancelled(stopped, ask_for("slow", mark=str(mark), seconds=0.3), mark_signal(mark))

    assert timed_out.status == "timed_out"
    assert "executor" in timed_out.shown
    assert record.status == "unknown"
    assert "running" in record.shown


def test_a_call_that_is_stopped_while_it_is_handed_over_is_cancelled_when_it_has_arrived() -> None:
    release, handed_over, done = threading.Event(), Future[None](), threading.Event()

    class Slow(Executor):
        """Stands for a cluster that is given something large."""

        def submit(self, *_: Any, **__: Any) -> Any:
            release.wait(240)
            handed_over.add_done_callback(lambda _: done.set())
            return handed_over

    record = make_harness(tool(far.where, run="auto", executor=Slow(), timeout=0.1)).run(ask_for("where"))
    release.set()

    assert "running" in record.shown
    assert done.wait(240)
    assert handed_over.cancelled()


def test_a_pool_that_breaks_or_is_closed_is_an_answer_to_the_model() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        broken = make_harness(tool(far.die, run="auto", executor=pool)).run(ask_for("die"))
    closed = make_harness(tool(far.die, run="auto", executor=pool)).run(ask_for("die"))

    assert broken.shown.startswith("BrokenProcessPool: ")
    assert closed.status == "error"


def test_only_executors_and_plain_functions_go_together(threads: ThreadPoolExecutor) -> None:
    def steps() -> Iterator[int]:
        yield 1

    async def later() -> None: ...

    for function in (steps, later):
        with pytest.raises(BadUsage, match="cannot run in an executor"):
            tool(function, executor=threads)
    with pytest.raises(BadUsage, match="executor cannot be a str"):
        tool(far.where, executor="pool")  # type: ignore[call-overload]  # what is tested
    with pytest.raises(BadUsage, match="Remove thread=True"):
        tool(far.where, executor=threads, thread=True)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # Dask warns of its dashboard, of sockets and of what it deprecates
@pytest.mark.parametrize("processes", [False, True])
def test_a_call_runs_at_dask(processes: bool, notebook_function: Callable[..., Any], tmp_path: Path) -> None:
    from distributed import Client, LocalCluster  # noqa: PLC0415 - loaded only every night

    mark = tmp_path / "mark"
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=processes, dashboard_address=None)
    with cluster, Client(cluster) as client:
        executor = client.get_executor(pure=False)
        at_cluster(executor, notebook_function, mark, is_far=processes)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # ipyparallel warns of what it deprecates
def test_a_call_runs_at_ipyparallel(notebook_function: Callable[..., Any], tmp_path: Path) -> None:
    import ipyparallel  # noqa: PLC0415 - loaded only every night

    with ipyparallel.Cluster(n=1, log_level=40, cluster_id="nbtool") as engines:
        engines[:].use_cloudpickle()  # its own way leaves the globals of a cell's functions behind
        at_cluster(engines.load_balanced_view().executor, notebook_function, tmp_path / "mark", is_far=True)


def at_cluster(executor: Executor, function: Callable[..., Any], mark: Path, *, is_far: bool) -> None:
    harness = make_harness(
        tool(function, run="auto", executor=executor),
        tool(far.slow, run="auto", executor=executor, name="slow"),
        tool(far.text_of, run="auto", executor=executor),
        notebook={"lock": threading.Lock()},
        expose=["lock"],
    )
    ran = harness.run(ask_for("where", n=3))
    unsent = harness.run(ask_for("text_of", thing="$VAR_REF{{lock}}"))
    stopped = cancelled(harness, ask_for("slow", mark=str(mark), seconds=1), mark_signal(mark))

    assert ran.status == "ok"
    assert (ran.result[0] != os.getpid()) is is_far
    assert ran.result[1] == 4
    assert "'thing' (lock)" in unsent.shown
    assert stopped.status == "unknown"


def test_a_stop_iteration_of_a_tool_at_an_executor_is_its_error(threads: ThreadPoolExecutor) -> None:
    def exhausted() -> object:
        """Take one more than there is."""
        return next(iter(()))

    record = make_harness(tool(exhausted, run="auto", executor=threads)).run(ask_for("exhausted"))

    assert (record.status, record.shown) == ("error", "RuntimeError: coroutine raised StopIteration")


def test_the_options_of_a_tool_go_with_its_function_without_its_executor(threads: ThreadPoolExecutor) -> None:
    options = Options(Policy("auto", "on_error"), timeout=3.0, name="pay", executor=threads)

    assert pickle.loads(pickle.dumps(options)) == replace(options, executor=None)


def test_a_copy_of_a_tool_whose_policies_are_functions_asks_about_every_call_and_result() -> None:
    options = Options(Policy(lambda _: "auto", lambda _: "never", sensitive=True))

    assert pickle.loads(pickle.dumps(options)).policy == Policy("ask_always", "always", sensitive=True)


def test_a_function_that_is_sent_by_value_is_the_same_tool() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    double = tool(lambda n: 2 * n, name="double", run="auto")
    copy = pickle.loads(cloudpickle.dumps(double))

    assert make_harness(copy).run(ask_for("double", n=4)).shown == "8"


def test_a_call_that_is_over_at_its_executor_leaves_nothing_to_stop() -> None:
    async def done() -> str:
        with ThreadPoolExecutor(1) as pool:
            place = ExecutorRunner(pool)
            before = place.stop()
            place._is_closed = False
            await place.run(lambda: 1)
            return f"{before}, {place.stop()}"

    assert asyncio.run(done()) == "uncertain, idle"


def test_a_call_that_waits_at_a_pool_leaves_nothing_to_stop(threads: ThreadPoolExecutor) -> None:
    release = threading.Event()
    threads.submit(release.wait, 240)
    place = ExecutorRunner(threads)
    place._submit(lambda: 1)
    stopped = place.stop()
    release.set()

    assert stopped == "idle"


def test_what_cannot_be_sent_is_named_and_what_is_no_partial_is_not_looked_into() -> None:
    work = functools.partial(max, 1, key=lambda one: one)

    assert list(_find_unpicklable(len)) == []
    assert next(_find_unpicklable(work)).startswith("the argument 'key' (")
    assert list(_find_unpicklable(functools.partial(max, 1))) == []
    assert "return value" in str(_explain_pickle_error(TypeError("cannot pickle 'lock'"), len, ThreadPoolExecutor(1)))
    assert isinstance(_explain_pickle_error(ValueError("cannot pickle"), work, ThreadPoolExecutor(1)), ValueError)


class StartedWhenAwaited(Future[bool]):
    """A future whose work starts, in a thread, when somebody waits for it."""

    def __init__(self, work: Callable[[], bool]) -> None:
        super().__init__()
        self.work, self.started = work, threading.Event()

    def add_done_callback(self, fn: Callable[[Future[bool]], object]) -> None:
        super().add_done_callback(fn)
        self.set_running_or_notify_cancel()
        threading.Thread(target=lambda: self.set_result(self.work())).start()
        self.started.set()


class Interruptible(Executor):
    """Ends running work if it is told to; `is_able` says whether it can."""

    def __init__(self, *, is_able: bool) -> None:
        self.is_able, self.submitted, self.interrupted = is_able, threading.Event(), threading.Event()

    def submit(self, work: Callable[..., Any], /, *_: Any, **__: Any) -> Any:
        self.future = StartedWhenAwaited(work)
        self.submitted.set()
        return self.future

    def is_started(self) -> bool:
        return self.submitted.wait(240) and self.future.started.wait(240)

    def interrupt(self, future: Future[Any]) -> bool:
        assert future.running()
        if self.is_able:
            self.interrupted.set()
        return self.is_able


@pytest.mark.parametrize(("is_able", "status"), [(True, "cancelled"), (False, "unknown")])
def test_running_work_of_an_executor_that_can_interrupt_it_ends(is_able: bool, status: str) -> None:
    pool = Interruptible(is_able=is_able)

    def slow() -> bool:
        return pool.interrupted.wait(240)

    harness = make_harness(tool(slow, run="auto", executor=pool))
    record = cancelled(harness, ask_for("slow"), pool.is_started)
    pool.interrupted.set()

    assert record.status == status


@pytest.mark.parametrize(("needs_main_thread", "expected"), [(True, "stand-in"), (False, "nbtool-tool")])
def test_a_tool_that_needs_the_main_thread_runs_there_where_no_caller_waits(
    needs_main_thread: bool, expected: str
) -> None:
    with ThreadPoolExecutor(1, "stand-in") as main_thread:
        where = tool(lambda: threading.current_thread().name, name="where", run="auto")
        (made,) = as_tools(where)
        harness = make_harness(replace(made, needs_main_thread=needs_main_thread))
        harness.runtime.caller_thread.main_thread = main_thread
        alone = harness.run(ask_for("where"))
        (waiting,) = harness.run_lent(ask_for("where"))

    assert str(alone.result).startswith(expected)
    assert waiting.result == threading.current_thread().name


def test_what_cannot_be_sent_is_named_by_its_number_where_its_parameter_has_no_name() -> None:
    def show(first: int, *others: object, key: object = None) -> object:
        return first, others, key

    lock = threading.Lock()
    unsent = list(_find_unpicklable(functools.partial(show, 1, lock, key=lock)))
    keyword = list(_find_unpicklable(functools.partial(print, lock, sep="")))

    assert [name.partition(" (")[0] for name in unsent[:2]] == ["the argument 1", "the argument 'key'"]
    assert [name.partition(" (")[0] for name in keyword] == ["the argument 1"]
    assert all("lock" in name for name in unsent[:2] + keyword)
