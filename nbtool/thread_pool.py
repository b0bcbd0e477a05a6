"""Daemon threads that are used again: making one costs more than most tools do.

One thread does one piece of work at a time. A piece that hangs keeps its thread and nothing else: the next one finds
another, and the exit waits for none of them.
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

MAX_IDLE = 8
"""Threads that wait for work; one more that has nothing to do ends."""

IDLE_SECONDS = 30.0
"""How long a thread waits for work before it ends."""

BUSY_NAME, IDLE_NAME = "nbtool-tool", "nbtool-idle"
"""What a thread is called while it works, and while it waits."""

_idle_workers: list[_Worker] = []


@dataclass(slots=True)
class Outcome:
    """What came of some work. `is_interrupt`: it was interrupted from the keyboard, not by us."""

    value: Any = field(default=None, repr=False)  # a repr of ours never runs the repr of a person's object
    error: BaseException | None = None
    is_interrupt: bool = False


def run_in_worker(work: Callable[[], Any], *, on_done: Callable[[], None] = lambda: None) -> asyncio.Future[Outcome]:
    """Do some work in a daemon thread, in a copy of the caller's context; `on_done` runs on the loop afterwards."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def settle(outcome: Outcome) -> None:
        on_done()
        if not future.done():
            future.set_result(outcome)

    def notify(outcome: Outcome) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    context = contextvars.copy_context()
    submit_daemon(lambda: context.run(capture, work, reraise=()), notify)
    return future


async def run_with_timeout(work: Callable[[], Any], seconds: float) -> Outcome | None:
    """Do some work in a thread, and give None when it takes longer than that."""
    future = run_in_worker(work)
    await asyncio.wait({future}, timeout=seconds)
    return future.result() if future.done() else None


def capture(work: Callable[[], Any], *, reraise: tuple[type[BaseException], ...] = (KeyboardInterrupt,)) -> Outcome:
    """Do some work and give what came of it; only errors of the types in `reraise` are raised."""
    try:
        return Outcome(work())
    except reraise:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the work raises is its outcome
        return Outcome(error=error)


def submit_daemon(work: Callable[[], Any], on_outcome: Callable[[Any], object]) -> None:
    """Do something in a thread and tell what came of it there; neither of the two raises anything."""
    try:
        worker = _idle_workers.pop()  # the one that worked last: what it needs is at hand
    except IndexError:
        worker = _Worker()
    worker.jobs.put((work, on_outcome))


class _Worker:
    """One thread and what it has to do."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], object]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=BUSY_NAME, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._run_job():
            pass

    def _run_job(self) -> bool:
        """Do the next piece of work; says whether to wait for another. Nothing of it outlives this frame."""
        try:
            work, on_outcome = self.jobs.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with suppress(ValueError):
                _idle_workers.remove(self)
                return False
            return True  # somebody has just taken it off the list, and work is coming
        self._thread.name = BUSY_NAME
        outcome = work()
        self._thread.name = IDLE_NAME
        is_reusable = len(_idle_workers) < MAX_IDLE
        if is_reusable:
            _idle_workers.append(self)  # before it tells: whoever hears of it may have the next piece of work
        on_outcome(outcome)
        return is_reusable


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
    os.register_at_fork(after_in_child=_idle_workers.clear)  # a forked child has the list and none of the threads
