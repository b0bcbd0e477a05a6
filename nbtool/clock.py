"""The clock of durations, deadlines and timers: one that never goes back, and that no library of tests stops.

`freezegun` replaces the functions of `time` in every loaded module, so that one reading of a duration may be real and
the other one not, and a time limit is never reached. It does not know `clock_gettime`, and finds no local name.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial


def _real_clock() -> Callable[[], float]:
    """Return the system's clock; that of Windows is the one that `time` has when nbtool is imported."""
    if hasattr(time, "clock_gettime"):
        return partial(time.clock_gettime, time.CLOCK_MONOTONIC)
    read = time.monotonic
    return lambda: read()


monotonic = _real_clock()
"""Returns seconds since some moment, as `time.monotonic` does."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop whose timers use this clock."""
    loop = asyncio.new_event_loop()
    if isinstance(loop, asyncio.BaseEventLoop):  # another one has a clock of its own
        vars(loop)["time"] = monotonic
    return loop
