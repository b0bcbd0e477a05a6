"""Daemon threads that are used again: making one costs more than most tools do.

One thread does one piece of work at a time. A piece that hangs keeps its thread and nothing else: the next one finds
another, and the exit waits for none of them.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MAX_IDLE = 8
"""Threads that wait for work; one more that has nothing to do ends."""

KEPT_SECONDS = 30.0
"""How long a thread waits for work before it ends."""

BUSY, IDLE = "nbtool-tool", "nbtool-idle"
"""What a thread is called while it works, and while it waits."""

_idle: list[_Worker] = []


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
