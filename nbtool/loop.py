"""The background event loop, and the bridge between synchronous callers and the async core.

One daemon thread per process runs an asyncio loop, on which every turn runs, independent of the thread, cell or loop
that started it. The caller's thread, while it waits for a turn, runs a queue of jobs, so that synchronous tools run
where the user's own code runs (plots, prints, database connections and an interrupt behave as in a cell). Without a
waiting caller a synchronous tool runs in a worker thread. Where no thread can be started, the loop that is there takes
the place of the background loop; see `threadless`.
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
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from nbtool.errors import Cancelled, NbtoolError
from nbtool.threadless import SharedLoop, copy_result, new_event, new_queue, suspension

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Seconds between two polls while the caller's thread waits; an interrupt is noticed at once."""


BLOCKED_SECONDS = 0.6
"""Seconds without a response of the loop, after which it counts as blocked."""

BLOCKED_POLLS = 40
"""Number of polls without a response of the loop, after which a waiting thread reports what blocks it."""

NOT_STARTED = "The call did not start, because the turn was stopped."
"""Why a job of a thread that was interrupted, or whose turn was stopped, has no outcome."""

_OWN_FILES, _STDLIB = str(Path(__file__).parent) + os.sep, str(Path(os.__file__).parent) + os.sep


def reset_after_fork(reset: Callable[[], object]) -> None:
    """Call `reset` in every forked child, which inherits the loops and locks of this process, but not its threads."""
    if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
        os.register_at_fork(after_in_child=reset)


def is_cancelling() -> bool:
    """Whether the running task is being cancelled, as opposed to something in it raising CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class LoopThread(threading.Thread):
    """A thread that runs an event loop of nbtool."""


class BackgroundLoop:
    """The asyncio loop of nbtool, in a daemon thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = LoopThread(target=self._run, name="nbtool", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop forever: a SystemExit or a KeyboardInterrupt in a task ends that task only."""
        while True:
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
                return

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, in a copy of the caller's context.

        The context carries the running cell (ipykernel keeps the parent message in a context variable), so that the
        output of the coroutine is shown in the cell that started it.
        """
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def start() -> None:
            task = self._loop.create_task(work, context=context)
            task.add_done_callback(lambda _: copy_result(future, task))
            future.add_done_callback(lambda _: self._cancel(task, future))

        self._loop.call_soon_threadsafe(start)
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run a synchronous function on the loop, from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def wait(self, future: Future[Any], seconds: float) -> bool:
        """Block this thread until a future is done, or for some seconds; return whether it is done."""
        return bool(wait({future}, seconds).done)

    def describe_blocked(self) -> str:
        """Return one line on what the loop runs right now: the outermost function that is not nbtool's or Python's."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        outermost = None
        while frame:
            outermost, frame = frame if _is_own(frame) else outermost, frame.f_back
        name = outermost.f_code.co_qualname.rpartition("<locals>.")[2] if outermost else ""
        what = f"`{name}` (line {outermost.f_lineno})" if outermost else "another turn"
        return (
            f"Waiting: {what} blocks nbtool's event loop, on which every turn runs. This continues once it returns;"
            " restart the kernel if it never does."
        )

    def is_current(self) -> bool:
        """Whether the caller is on a thread that runs an event loop of nbtool, which must not be blocked."""
        return isinstance(threading.current_thread(), LoopThread)

    def _cancel(self, task: asyncio.Task[Any], future: Future[Any]) -> None:
        if future.cancelled():
            self._loop.call_soon_threadsafe(task.cancel)


class LoopWatch:
    """Checks on every call that the loop still responds; raises TimeoutError once it is blocked."""

    def __init__(self) -> None:
        self._responded = new_event()
        self._ping()

    def __call__(self) -> None:
        """Check now.

        Raises:
            TimeoutError: the loop has not responded for `BLOCKED_SECONDS`.
        """
        if self._responded.is_set():
            self._ping()
        elif time.monotonic() > self._ends:
            raise TimeoutError

    def _ping(self) -> None:
        self._responded.clear()
        self._ends = time.monotonic() + BLOCKED_SECONDS
        background_loop().call_soon(self._responded.set)


class BlockedNotice:
    """Reports once, while a thread polls, what blocks the loop that it waits for."""

    def __init__(self, report: Callable[[str], object], blocked_polls: int = BLOCKED_POLLS) -> None:
        self._report = report
        self._blocked_polls = blocked_polls
        self._responded = new_event()
        self._polls = 0

    def poll(self) -> None:
        """Check once in so many polls; seconds would include a long job that this thread itself runs."""
        self._polls += 1
        if self._polls == 1:
            self._responded.clear()
            background_loop().call_soon(self._responded.set)
        elif self._polls == self._blocked_polls:
            if self._responded.is_set():
                self._polls = 0
            else:
                self._report(background_loop().describe_blocked())


@cache
def background_loop() -> BackgroundLoop | SharedLoop:
    """Return the process's loop, which is started on the first call."""
    suspended = suspension()
    return SharedLoop(suspended) if suspended else BackgroundLoop()


reset_after_fork(background_loop.cache_clear)


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any]
    context: contextvars.Context
    future: Future[Any] = field(default_factory=Future)


class CallerThread:
    """A thread that waits for a turn, and runs the turn's synchronous jobs while it waits."""

    def __init__(self) -> None:
        self._jobs = new_queue()
        self._lock = threading.Lock()
        self._attached_thread: int | None = None
        self._busy = False
        self._waiting_jobs = 0
        self._is_closed = False
        self.is_interrupting = False
        self.report_blocked: Callable[[str], object] = _warn
        self.before_first_job: Callable[[], object] | None = None
        self.main_thread: Executor | None = None  # where no caller waits, for work that needs the main thread

    @property
    def is_attached(self) -> bool:
        """Whether a thread is waiting, so that queued jobs will run."""
        return self._attached_thread is not None

    @property
    def is_closed(self) -> bool:
        """Whether no job starts any more."""
        return self._is_closed

    @property
    def is_free(self) -> bool:
        """Whether a job would start at once."""
        return not self._busy and not self._waiting_jobs

    def attach(self) -> None:
        """Attach this thread before it calls `run_until`, so that jobs queued in between wait for it."""
        self._attached_thread = threading.get_ident()

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` on the caller's thread and return its result; in a worker thread if no caller waits.

        Raises:
            Cancelled: the work did not start, because this was closed, or was interrupted.
        """
        work = partial(_without_stop_iteration, work)
        job = _Job(work, contextvars.copy_context())
        with self._lock:
            if self._is_closed:
                raise Cancelled(NOT_STARTED)
            is_attached = self.is_attached
            if is_attached:
                self._jobs.put(job)
        if not is_attached:
            return await asyncio.to_thread(work)
        self._waiting_jobs += 1
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            self._waiting_jobs -= 1

    def run_until(
        self,
        future: Future[T],
        *,
        on_tick: Callable[[], None] = lambda: None,
        on_start: Callable[[], object] | None = None,
        seconds: float | None = None,
    ) -> T:
        """Wait for `future` on this thread and run the queued jobs; `on_tick` is called on every poll.

        `on_start` is called once this thread is attached; its errors propagate. Jobs that were queued before `future`
        was done run here too. `on_tick` is also called right before each job and after the last one, so that it can
        raise an interrupt that the user's code has caught meanwhile.

        Raises:
            TimeoutError: it took longer than `seconds`.
            KeyboardInterrupt: at once, also out of a running job, whose own future then raises `Cancelled`. This thread
                stays attached, so that the next job is not started in a worker: close it and wait once more.
        """
        self.attach()
        is_interrupted = False
        blocked = BlockedNotice(self.report_blocked)
        future.add_done_callback(lambda _: self._jobs.put(None))
        try:
            if on_start:
                on_start()
            deadline = None if seconds is None else time.monotonic() + seconds
            while not future.done():
                if deadline and time.monotonic() > deadline:
                    raise TimeoutError
                on_tick()
                blocked.poll()
                with suppress(queue.Empty):
                    self._run_job(self._jobs.get(timeout=POLL_SECONDS), on_tick)
            self._drain(on_tick)
            on_tick()
            return future.result()
        except KeyboardInterrupt:
            is_interrupted = not self._is_closed
            raise
        finally:
            self._attached_thread = threading.get_ident() if is_interrupted else None

    def close(self) -> None:
        """Start no more jobs: queued and later jobs raise `Cancelled`; the running job is not affected."""
        self._is_closed = True

    def interrupt(self) -> bool:
        """Raise KeyboardInterrupt in the running job; return whether there was one that can be interrupted."""
        thread = threading.main_thread().ident
        if not self._busy or thread is None or self._attached_thread != thread or suspension():
            return False
        if sys.platform == "win32":
            self.is_interrupting = True
            import _thread  # noqa: PLC0415 - Windows has no pthread_kill

            _thread.interrupt_main()
        else:
            self.is_interrupting = True
            signal.pthread_kill(thread, signal.SIGINT)
        return True

    def _drain(self, on_tick: Callable[[], None]) -> None:
        """Detach the thread and run the jobs that are queued already."""
        with self._lock:
            self._attached_thread = None
        with suppress(queue.Empty):
            while True:
                self._run_job(self._jobs.get_nowait(), on_tick)

    def _run_job(self, job: _Job | None, on_tick: Callable[[], None]) -> None:
        if job is None or not job.future.set_running_or_notify_cancel():
            return
        try:
            if not self._is_closed:
                on_tick()
            if self._is_closed:  # perhaps by what was polled
                raise Cancelled(NOT_STARTED)
            self._busy = True
            if first := self.before_first_job:
                self.before_first_job = None
                first()
            outcome = job.context.run(job.work)
        except KeyboardInterrupt:
            # Not passed on to the loop: asyncio stops its loop on a KeyboardInterrupt in a task.
            job.future.set_exception(Cancelled("The call was interrupted."))
            raise
        except BaseException as error:  # noqa: BLE001 - every error is passed to the caller, SystemExit too
            job.future.set_exception(error)
        else:
            job.future.set_result(outcome)
        finally:
            self._busy = self.is_interrupting = False


def _without_stop_iteration(work: Callable[[], T]) -> T:
    """Raise RuntimeError in place of StopIteration, which no asyncio future accepts: its waiter would never return."""
    try:
        return work()
    except StopIteration as error:
        raise RuntimeError("The function raised StopIteration.") from error  # as in coroutines, see PEP 479


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and block this thread until it is done.

    Raises:
        NbtoolError: called on the loop's own thread, where it would deadlock.
    """
    if background_loop().is_current():
        work.close()
        raise NbtoolError("A blocking call was made on nbtool's own loop.", fix="Await the async form instead.")
    future, blocked = background_loop().submit(work), BlockedNotice(_warn)
    while not background_loop().wait(future, POLL_SECONDS):
        blocked.poll()
    return future.result()


def wait_for_future(future: Future[T], seconds: float) -> T:
    """Block this thread until a future is done, and return its result.

    Raises:
        TimeoutError: it took longer than `seconds`.
    """
    if not background_loop().wait(future, seconds):
        raise TimeoutError
    return future.result()


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _is_own(frame: FrameType) -> bool:
    """Return whether code is neither nbtool's nor Python's own."""
    name = frame.f_code.co_filename
    is_stdlib = name.startswith(_STDLIB) and "-packages" not in name
    return not (is_stdlib or name.startswith((_OWN_FILES, "<frozen")))
