"""The thread of a synchronous caller, which runs the synchronous tools of a turn while it waits for the turn.

So they run where the user's own code runs: plots, prints, database connections and an interrupt behave as in a cell.
Without a waiting caller a synchronous tool runs in a worker thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from nbtool.clock import monotonic
from nbtool.errors import Cancelled
from nbtool.threads.loop import POLL_SECONDS, BlockedNotice, LoopThread, warn_blocked
from nbtool.threads.threadless import new_queue, suspension

T = TypeVar("T")

NOT_STARTED = "The call did not start, because the turn was stopped."
"""Why a job of a thread that was interrupted, or whose turn was stopped, has no outcome."""


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any]
    context: contextvars.Context
    future: Future[Any] = field(default_factory=Future)


class CallerLoop:
    """The event loop of the code that starts and awaits a turn, on which the turn's async tools run meanwhile."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._awaiting = 0

    @property
    def is_awaited(self) -> bool:
        """Whether code on the loop awaits the turn."""
        return self._awaiting > 0

    def note_start(self) -> None:
        """Note the loop of the code that starts the turn, and may await it next."""
        self.loop = _running_loop()

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Note that the turn is awaited on the running loop."""
        self.loop = _running_loop()
        self._awaiting += 1
        try:
            yield
        finally:
            self._awaiting -= 1


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs on this thread; None on those of nbtool, and where there is none."""
    if isinstance(threading.current_thread(), LoopThread):
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class CallerThread:
    """A thread that waits for a turn, and runs the turn's synchronous jobs while it waits."""

    def __init__(self) -> None:
        self._jobs = new_queue()
        self._lock = threading.Lock()
        self._attached_thread: int | None = None
        self._busy = False
        self._waiting_jobs = 0
        self._is_closed = False
        self.caller_loop = CallerLoop()
        self.is_interrupting = False
        self.report_blocked: Callable[[str], object] = warn_blocked
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

    @property
    def can_interrupt(self) -> bool:
        """Whether a job of the waiting thread can be interrupted, also while it waits for a line of input."""
        is_console = sys.platform == "win32" and sys.stdin.isatty()  # its `input()` returns with a key only
        return self._is_main_thread() and not is_console

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
            deadline = None if seconds is None else monotonic() + seconds
            while not future.done():
                if deadline and monotonic() > deadline:
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
        if not self._busy or thread is None or not self._is_main_thread():
            return False
        if sys.platform == "win32":
            self.is_interrupting = True
            import _thread  # noqa: PLC0415 - Windows has no pthread_kill

            _thread.interrupt_main()
        else:
            self.is_interrupting = True
            signal.pthread_kill(thread, signal.SIGINT)
        return True

    def _is_main_thread(self) -> bool:
        return self._attached_thread == threading.main_thread().ident and not suspension()

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
