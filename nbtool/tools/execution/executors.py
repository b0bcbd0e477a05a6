"""Tools that run at an executor of the person's: a pool of threads or processes, or a cluster.

A call is handed over as one picklable piece. What an executor says of a cancelled future is believed of the standard
pools alone: a cluster cancels the future, and what had begun there may go on.
"""

from __future__ import annotations

import asyncio
import functools
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.thread_pool import Outcome, in_worker
from nbtool.tools.execution.threads import Stopping
from nbtool.tools.values.describe import describe, type_name

_UNSENDABLE = ("pickle", "serialize", "not the same object", "local object")
"""Words of errors that say that something cannot be sent to another process."""


class InExecutor:
    """An executor of the person's own. A deadline counts from when the call is handed over."""

    name = "executor"
    has_refused = False

    def __init__(self, executor: Executor, begun: Callable[[], None]) -> None:
        self._executor = executor
        self._begun = begun
        self._future: Future[Any] | None = None
        self._is_closed = False

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Hand some work over, off the loop because it may be large, and wait for what comes of it."""
        self._begun()
        handed_over = await in_worker(lambda: self._submit(work))
        error = handed_over.error
        if self._future and not error:
            try:
                return Outcome(await _result_of(self._future))
            except (Exception, CancelledError) as raised:  # noqa: BLE001 - whatever a tool raises is its outcome
                error = raised
        return Outcome(error=_named(error, work, self._executor) if error else None)

    def stop(self) -> Stopping:
        """Cancel the call where the executor can, and say how sure that is."""
        self._is_closed = True
        if self._future is None:
            return "uncertain"
        if self._future.done():
            return "idle"
        if not self._future.cancel():
            return "out_of_reach"
        return "idle" if isinstance(self._executor, ThreadPoolExecutor | ProcessPoolExecutor) else "uncertain"

    def _submit(self, work: Callable[[], Any]) -> None:
        self._future = self._executor.submit(work)
        if self._is_closed:
            self._future.cancel()


async def _result_of(future: Future[Any]) -> Any:
    """Wait for a future; StopIteration comes as RuntimeError, where `asyncio.wrap_future` would wait for ever."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    try:
        await done.wait()
    finally:
        future.cancel()  # which changes nothing where it has ended
    return future.result()


def _named(error: BaseException, work: Callable[[], Any], executor: Executor) -> BaseException:
    """Say in one line what could not be sent to an executor, where that is what went wrong."""
    is_of_sending = isinstance(error, pickle.PicklingError | TypeError | AttributeError)
    if not is_of_sending or not any(word in str(error) for word in _UNSENDABLE):
        return error
    what = next(_unsendable(work), "what the tool gives back")
    return ToolFailed(
        f"The call could not be sent to or from its {type_name(type(executor))}: {what} cannot be pickled."
    )


def _unsendable(work: Callable[[], Any]) -> Iterator[str]:
    if not isinstance(work, functools.partial):
        return
    given = {f"the argument {number}": value for number, value in enumerate(work.args, start=1)}
    given |= {f"the argument {name!r}": value for name, value in work.keywords.items()}
    for name, value in given.items():
        if not _can_be_sent(value):
            yield f"{name} ({describe(value)})"
    if not _can_be_sent(work.func):
        yield "the function itself (define it in a module)"


def _can_be_sent(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - objects raise what they like when they are pickled
        return False
    return True
