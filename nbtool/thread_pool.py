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

KEPT_SECONDS = 30.0
"""How long a thread waits for work before it ends."""

BUSY, IDLE = "nbtool-tool", "nbtool-idle"
"""What a thread is called while it works, and while it waits."""

_idle: list[_Worker] = []


@dataclass(slots=True)
class Outcome:
    """What came of some work. `by_person`: it was interrupted from the keyboard, not by us."""

    value: Any = field(default=None, repr=False)  # a repr of ours never runs the repr of a person's object
    error: BaseException | None = None
    by_person: bool = False


def in_worker(work: Callable[[], Any], *, done: Callable[[], None] = lambda: None) -> asyncio.Future[Outcome]:
    """Do some work in a daemon thread, in a copy of the caller's context; `done` is called on the loop afterwards."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def settle(outcome: Outcome) -> None:
        done()
        if not future.done():
            future.set_result(outcome)

    def tell(outcome: Outcome) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    context = contextvars.copy_context()
    set_to_work(lambda: context.run(contained, work, but=()), tell)
    return future


async def off_loop(work: Callable[[], Any], seconds: float) -> Outcome | None:
    """Do some work in a thread, and give None when it takes longer than that."""
    future = in_worker(work)
    await asyncio.wait({future}, timeout=seconds)
    return future.result() if future.done() else None


def contained(work: Callable[[], Any], *, but: tuple[type[BaseException], ...] = (KeyboardInterrupt,)) -> Outcome:
    """Do some work and give what came of it; only errors of the types in `but` are raised."""
    try:
        return Outcome(work())
    except but:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the work raises is its outcome
        return Outcome(error=error)


def set_to_work(work: Callable[[], Any], tell: Callable[[Any], object]) -> None:
    """Do something in a thread and tell what came of it there; neither of the two raises anything."""
    try:
        worker = _idle.pop()  # the one that worked last: what it needs is at hand
    except IndexError:
        worker = _Worker()
    worker.jobs.put((work, tell))


class _Worker:
    """One thread and what it has to do."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], object]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=BUSY, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._do_one():
            pass

    def _do_one(self) -> bool:
        """Do the next piece of work; says whether to wait for another. Nothing of it outlives this frame."""
        try:
            work, tell = self.jobs.get(timeout=KEPT_SECONDS)
        except queue.Empty:
            with suppress(ValueError):
                _idle.remove(self)
                return False
            return True  # somebody has just taken it off the list, and work is coming
        self._thread.name = BUSY
        outcome = work()
        self._thread.name = IDLE
        is_kept = len(_idle) < MAX_IDLE
        if is_kept:
            _idle.append(self)  # before it tells: whoever hears of it may have the next piece of work
        tell(outcome)
        return is_kept


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
    os.register_at_fork(after_in_child=_idle.clear)  # a forked child has the list and none of the threads
