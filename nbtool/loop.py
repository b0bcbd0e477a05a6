"""The one door between a synchronous caller and the async core.

One daemon thread per process runs an asyncio loop; every turn runs there, whatever thread, cell or loop started
it. The thread that waits for a turn is *lent* to it meanwhile: it drains a queue of work, so that synchronous
tools run where the person's own code runs (plots, prints, database connections and an interrupt behave as in a
cell). Where nobody waits, a synchronous tool runs in a worker thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

from nbtool.errors import Cancelled, NbtoolError

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Seconds between two looks around while the lent thread waits: an interrupt is noticed at once, a poll this often."""


BLOCKED_SECONDS = 0.6
"""Seconds in which the loop does nothing else, after which it is taken to be blocked by what runs on it."""


def reset_after_fork(reset: Callable[[], object]) -> None:
    """Call something in every forked child, which has the loops and locks of this process, and none of its threads."""
    if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
        os.register_at_fork(after_in_child=reset)


class LoopThread(threading.Thread):
    """A thread that runs an event loop of nbtool."""


class BackgroundLoop:
    """The asyncio loop of nbtool, in a daemon thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = LoopThread(target=self._run, name="nbtool", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop for ever: a SystemExit or a KeyboardInterrupt in a task ends that task, and not all turns."""
        while True:
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
                return

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, in a copy of the caller's context.

        The context carries the running cell (ipykernel keeps the parent message in a context variable), so
        that what the work prints lands in the cell that started it.
        """
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def start() -> None:
            task = self._loop.create_task(work, context=context)
            task.add_done_callback(lambda _: _copy_result(future, task))
            future.add_done_callback(lambda _: self._cancel(task, future))

        self._loop.call_soon_threadsafe(start)
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run a plain function on the loop, from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def is_current(self) -> bool:
        """Whether the caller is on the thread of this loop, or of the one of tools, where nobody may block."""
        return isinstance(threading.current_thread(), LoopThread)

    def _cancel(self, task: asyncio.Task[Any], future: Future[Any]) -> None:
        if future.cancelled():
            self._loop.call_soon_threadsafe(task.cancel)


class LoopWatch:
    """Looks, call by call, whether the loop still does something; raises TimeoutError once it is blocked."""

    def __init__(self) -> None:
        self._responded = threading.Event()
        self._ask()

    def __call__(self) -> None:
        """Look now.

        Raises:
            TimeoutError: what runs on the loop has not let it go for `BLOCKED_SECONDS`.
        """
        if self._responded.is_set():
            self._ask()
        elif time.monotonic() > self._ends:
            raise TimeoutError

    def _ask(self) -> None:
        self._responded.clear()
        self._ends = time.monotonic() + BLOCKED_SECONDS
        background_loop().call_soon(self._responded.set)


@cache
def background_loop() -> BackgroundLoop:
    """Give the process's loop; started when first asked for."""
    return BackgroundLoop()


reset_after_fork(background_loop.cache_clear)


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any]
    context: contextvars.Context
    future: Future[Any] = field(default_factory=Future)


class CallerThread:
    """A thread that waits for a turn, and runs the turn's synchronous work meanwhile."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._attached_thread: int | None = None
        self._busy = False
        self._is_closed = False
        self.is_interrupting = False

    @property
    def is_attached(self) -> bool:
        """Whether a thread is waiting, so that work put here will be done."""
        return self._attached_thread is not None

    def attach(self) -> None:
        """Promise that this thread will `run_until` at once: work that comes in between waits for it."""
        self._attached_thread = threading.get_ident()

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` on the lent thread and give what it returns; in a worker thread where nobody waits."""
        work = partial(_without_stop_iteration, work)
        job = _Job(work, contextvars.copy_context())
        with self._lock:
            is_attached = self.is_attached
            if is_attached:
                self._jobs.put(job)
        if not is_attached:
            return await asyncio.to_thread(work)
        return await asyncio.wrap_future(job.future)

    def run_until(
        self,
        future: Future[T],
        *,
        on_tick: Callable[[], None] | None = None,
        on_start: Callable[[], object] | None = None,
        seconds: float | None = None,
    ) -> T:
        """Wait for `future` on this thread and do what the turn asks for; `on_tick` is called every tick.

        `on_start` sets the turn going once this thread is there for it; what it raises goes through. What was put here
        before `future` was done is done here too: it was promised this thread.

        Raises:
            TimeoutError: it took longer than `seconds`.
            KeyboardInterrupt: at once, also out of a running job, whose own future then says `Cancelled`.
        """
        self.attach()
        future.add_done_callback(lambda _: self._jobs.put(None))
        try:
            if on_start:
                on_start()
            deadline = None if seconds is None else time.monotonic() + seconds
            while not future.done():
                if deadline and time.monotonic() > deadline:
                    raise TimeoutError
                if on_tick:
                    on_tick()
                with suppress(queue.Empty):
                    self._run_job(self._jobs.get(timeout=POLL_SECONDS))
            self._drain()
            return future.result()
        finally:
            self._attached_thread = None

    def close(self) -> None:
        """Begin no more jobs: what waits in the queue is cancelled; the job that runs is not touched."""
        self._is_closed = True

    def interrupt(self) -> bool:
        """Raise KeyboardInterrupt in the job that runs now; says whether there was one that can be reached."""
        thread = threading.main_thread().ident
        if not self._busy or thread is None or self._attached_thread != thread:
            return False
        if sys.platform == "win32":
            self.is_interrupting = True
            import _thread  # noqa: PLC0415 - Windows has no pthread_kill

            _thread.interrupt_main()
        else:
            self.is_interrupting = True
            signal.pthread_kill(thread, signal.SIGINT)
        return True

    def _drain(self) -> None:
        """Take no more work, and do what is here already."""
        with self._lock:
            self._attached_thread = None
        with suppress(queue.Empty):
            while True:
                self._run_job(self._jobs.get_nowait())

    def _run_job(self, job: _Job | None) -> None:
        if job and self._is_closed:
            job.future.cancel()
        if job is None or not job.future.set_running_or_notify_cancel():
            return
        self._busy = True
        try:
            outcome = job.context.run(job.work)
        except KeyboardInterrupt:
            # Never handed to the loop as it is: asyncio ends its thread on a KeyboardInterrupt in a task.
            job.future.set_exception(Cancelled("The person interrupted the call."))
            raise
        except BaseException as error:  # noqa: BLE001 - the caller gets whatever the work raised, SystemExit too
            job.future.set_exception(error)
        else:
            job.future.set_result(outcome)
        finally:
            self._busy = self.is_interrupting = False


def _without_stop_iteration(work: Callable[[], T]) -> T:
    """Raise RuntimeError in place of StopIteration, which no asyncio future takes: its waiter would wait for ever."""
    try:
        return work()
    except StopIteration as error:
        raise RuntimeError("The function raised StopIteration.") from error  # as in coroutines, see PEP 479


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it on this thread.

    Raises:
        NbtoolError: called on the loop's own thread, where it would wait for itself.
    """
    if background_loop().is_current():
        work.close()
        raise NbtoolError("A blocking call was made on nbtool's own loop.", fix="Await the async form instead.")
    return background_loop().submit(work).result()


def _copy_result(future: Future[T], task: asyncio.Task[T]) -> None:
    if future.cancelled():
        return
    if task.cancelled():
        future.cancel()
    elif error := task.exception():
        future.set_exception(error)
    else:
        future.set_result(task.result())
