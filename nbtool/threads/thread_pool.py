"""A pool of daemon threads: starting a thread costs more than most tools do.

One thread runs one job at a time. A job that hangs blocks only its own thread: the next job gets another one, and the
interpreter's exit waits for none of them. Where no thread can be started, the event loop runs the jobs one by one.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.threads.threadless import suspension

MAX_IDLE = 8
"""Maximum number of idle threads; a further idle thread ends."""

IDLE_SECONDS = 30.0
"""Seconds after which an idle thread ends."""

BUSY_NAME, IDLE_NAME = "nbtool-tool", "nbtool-idle"
"""The name of a thread while it runs a job, and while it is idle."""


@dataclass(slots=True)
class Outcome:
    """The value or the error of a job. `is_interrupt`: it was interrupted from the keyboard, not by nbtool."""

    value: Any = field(default=None, repr=False)  # repr() must not run the repr of a user's object
    error: BaseException | None = None
    is_interrupt: bool = False


def run_in_worker(work: Callable[[], Any], *, on_done: Callable[[], None] = lambda: None) -> asyncio.Future[Outcome]:
    """Run `work` in a daemon thread, in a copy of the caller's context; `on_done` runs on the loop afterwards."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def settle(outcome: Outcome) -> None:
        on_done()
        if not future.done():
            future.set_result(outcome)

    def notify(outcome: Outcome) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing waits for the result
            loop.call_soon_threadsafe(settle, outcome)

    context = contextvars.copy_context()
    submit = LoopJobs().submit if suspension() else submit_daemon
    submit(lambda: context.run(capture, work, reraise=()), notify)
    return future


async def run_with_timeout(work: Callable[[], Any], seconds: float) -> Outcome | None:
    """Run `work` in a thread; return None if it takes longer than `seconds`."""
    future = run_in_worker(work)
    await asyncio.wait({future}, timeout=seconds)
    return future.result() if future.done() else None


def capture(work: Callable[[], Any], *, reraise: tuple[type[BaseException], ...] = (KeyboardInterrupt,)) -> Outcome:
    """Run `work` and return its outcome; only errors of the types in `reraise` are raised."""
    try:
        return Outcome(work())
    except reraise:
        raise
    except BaseException as error:  # noqa: BLE001 - every error is part of the outcome
        return Outcome(error=error)


class ThreadPool:
    """Daemon threads without an upper bound; a few idle ones are kept for the next jobs."""

    def __init__(self, max_idle: int = MAX_IDLE, idle_seconds: float = IDLE_SECONDS) -> None:
        self.max_idle, self.idle_seconds = max_idle, idle_seconds
        self.idle_workers: list[_Worker] = []

    def submit(self, work: Callable[[], Any], on_outcome: Callable[[Any], object]) -> None:
        """Run `work` in a thread and pass its outcome to `on_outcome` there; neither may raise."""
        try:
            worker = self.idle_workers.pop()  # the one that ran last: its caches are warm
        except IndexError:
            worker = _Worker(self)
        worker.jobs.put((work, on_outcome))


class LoopJobs:
    """Jobs on the running event loop, in place of threads: each occupies it until it returns."""

    def submit(self, work: Callable[[], Any], on_outcome: Callable[[Any], object]) -> None:
        """Run `work` when the loop is free, and pass its outcome to `on_outcome`; neither may raise."""
        asyncio.get_running_loop().call_soon(lambda: on_outcome(work()))


class _Worker:
    """One thread and its queue of jobs."""

    def __init__(self, pool: ThreadPool) -> None:
        self._pool = pool
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], object]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=BUSY_NAME, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._run_job():
            pass

    def _run_job(self) -> bool:
        """Run the next job and return whether to wait for another. No reference to it outlives this frame."""
        try:
            work, on_outcome = self.jobs.get(timeout=self._pool.idle_seconds)
        except queue.Empty:
            with suppress(ValueError):
                self._pool.idle_workers.remove(self)
                return False
            return True  # another thread has just taken it off the list, and a job is coming
        self._thread.name = BUSY_NAME
        outcome = work()
        self._thread.name = IDLE_NAME
        is_reusable = len(self._pool.idle_workers) < self._pool.max_idle
        if is_reusable:
            self._pool.idle_workers.append(self)  # before the callback, which may submit the next job
        on_outcome(outcome)
        return is_reusable


_pool = ThreadPool()
submit_daemon = _pool.submit

if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
    os.register_at_fork(after_in_child=_pool.idle_workers.clear)  # a forked child inherits the list, not the threads
