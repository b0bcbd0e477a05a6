"""Run tools in a user's executor: a pool of threads or processes, or a cluster.

A call is submitted as one picklable object. The state of a cancelled future is trusted for the standard pools only: a
cluster cancels the future, but work that has started may continue.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.threads.thread_pool import Outcome, run_in_worker
from nbtool.tools.execution.dask_ticket import is_dask, open_result, submit_once
from nbtool.tools.execution.start_check import CheckedFunction
from nbtool.tools.execution.threads import StopResult
from nbtool.tools.execution.worker_version import compare_in_worker
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import type_name

_PICKLE_ERROR_WORDS = ("pickle", "serialize", "not the same object", "local object")
"""Words of errors about objects that cannot be sent to another process."""


NOT_COMPARED = (
    "It runs on a worker of the {kind}, where your own modules are the worker's copy, which is not compared with yours."
)


def worker_notice(executor: Executor | None) -> str:
    """Return what the person must know of an executor whose workers run code that is not compared; else empty."""
    names = {kind.__name__ for kind in type(executor).__mro__}
    is_here = executor is None or (isinstance(executor, ThreadPoolExecutor) and "InterpreterPoolExecutor" not in names)
    is_compared = is_here or isinstance(executor, ProcessPoolExecutor)
    return "" if is_compared else NOT_COMPARED.format(kind=type_name(type(executor)))


class ExecutorRunner:
    """Runs tools in a user's executor. A deadline starts when the call is submitted."""

    name = "executor"
    has_started = False
    has_refused = False
    is_free = False  # its queue is not known

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.on_start: Callable[[], object] = lambda: None
        self._future: Future[Any] | None = None
        self._is_closed = False
        self._has_ticket = False

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Submit work, off the event loop because it may be large, and wait for its outcome."""
        self.has_started = True
        self.on_start()
        submission = await run_in_worker(lambda: self._submit(work))
        error = submission.error
        if self._future and not error:
            try:
                result = await _await_result(self._future)
                return Outcome(open_result(result) if self._has_ticket else result)
            except (Exception, CancelledError) as failure:  # noqa: BLE001 - any exception of a tool is its outcome
                error = failure
        return Outcome(error=_explain_pickle_error(error, work, self._executor) if error else None)

    def stop(self) -> StopResult:
        """Cancel the call if the executor supports it, and return how certain that is."""
        self._is_closed = True
        if self._future is None:
            return "uncertain"
        if self._future.done():
            return "idle"
        if not self._future.cancel():
            interrupt = getattr(self._executor, "interrupt", None)
            return "interrupted" if interrupt and interrupt(self._future) else "out_of_reach"
        return "idle" if isinstance(self._executor, ThreadPoolExecutor | ProcessPoolExecutor) else "uncertain"

    def _submit(self, work: Callable[[], Any]) -> None:
        self._has_ticket = is_dask(self._executor)
        if isinstance(self._executor, ProcessPoolExecutor) and isinstance(work, partial | CheckedFunction):
            checked = CheckedFunction(work) if isinstance(work, partial) else work
            work = replace(checked, reduce=compare_in_worker)
        self._future = submit_once(self._executor, work) if self._has_ticket else self._executor.submit(work)
        if self._is_closed:
            self._future.cancel()


async def _await_result(future: Future[Any]) -> Any:
    """Wait for a future; StopIteration is raised as RuntimeError, because `asyncio.wrap_future` would wait forever."""
    loop, finished = asyncio.get_running_loop(), asyncio.Event()

    def notify(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing waits
            loop.call_soon_threadsafe(finished.set)

    future.add_done_callback(notify)
    try:
        await finished.wait()
    finally:
        future.cancel()  # no effect if it has ended
    return future.result()


def _explain_pickle_error(error: BaseException, work: Callable[[], Any], executor: Executor) -> BaseException:
    """Return a one-line error that names the object that could not be pickled, if that is the cause."""
    may_be_pickling = isinstance(error, pickle.PicklingError | TypeError | AttributeError)
    if not may_be_pickling or not any(phrase in str(error) for phrase in _PICKLE_ERROR_WORDS):
        return error
    unpicklable = next(_find_unpicklable(work), "the return value of the tool")
    return ToolFailed(
        f"The call could not be sent to or from its {type_name(type(executor))}: {unpicklable} cannot be pickled."
    )


def _find_unpicklable(work: Callable[[], Any]) -> Iterator[str]:
    work = work.function if isinstance(work, CheckedFunction) else work
    if not isinstance(work, partial):
        return
    values = dict(zip(_names_of_positions(work), work.args, strict=False))
    values |= {f"the argument {name!r}": value for name, value in work.keywords.items()}
    for name, value in values.items():
        if not _is_picklable(value):
            yield f"{name} ({describe(value)})"
    if not _is_picklable(work.func):
        yield "the function itself (define it in a module)"


def _names_of_positions(work: partial[Any]) -> Iterator[str]:
    """Yield the names of the arguments that are passed by position, and numbers where there is no name."""
    with suppress(ValueError, TypeError):
        for parameter in inspect.signature(work.func).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                yield f"the argument {parameter.name!r}"
    yield from (f"the argument {number}" for number in count(1))


def _is_picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - pickling may raise anything
        return False
    return True
