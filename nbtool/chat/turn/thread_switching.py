"""How soon Python lets another thread run, shortened while a turn is being stopped.

A thread that computes in Python keeps the interpreter for `sys.getswitchinterval()`, 5 ms, before another one may run.
Beside 30 of them each step of a stop waits for 150 ms, and a stop takes dozens of steps on several threads.
"""

from __future__ import annotations

import math
import sys
import threading
from concurrent.futures import Future
from typing import Any

from nbtool.threads.loop import reset_after_fork

STOP_INTERVAL = 0.0005
"""Seconds that a thread keeps the interpreter while a turn is being stopped; with a tenth of it a stop took longer."""


class _Switching:
    """The interval of this process, shortened as long as anything is being stopped. Thread-safe."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all stops, in a forked child too: a held lock would stay locked there."""
        self._lock = threading.RLock()  # a signal may stop a turn while this thread has it
        self._count = 0
        self._former = STOP_INTERVAL

    def shorten(self) -> None:
        """Shorten the interval, unless it is shorter already."""
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._former = sys.getswitchinterval()
                sys.setswitchinterval(min(self._former, STOP_INTERVAL))

    def restore(self) -> None:
        """Restore the former interval after the last stop, unless somebody has set another one meanwhile."""
        with self._lock:
            self._count -= 1
            if self._count == 0 and math.isclose(sys.getswitchinterval(), STOP_INTERVAL):
                sys.setswitchinterval(self._former)


_switching = _Switching()
reset_after_fork(_switching.reset)


def switch_sooner_until(done: Future[Any]) -> None:
    """Let other threads run sooner until a future is done."""
    _switching.shorten()
    done.add_done_callback(lambda _: _switching.restore())
