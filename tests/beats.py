"""A beat on nbtool's own loop, which tells how long the loop was busy with one thing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nbtool.threads.loop import background_loop
from tests.cpu_time import TRIES, slowness

T = TypeVar("T")

STALL = 0.2
"""Seconds of CPU that nbtool's loop may spend between two of its beats."""


@contextmanager
def beats() -> Iterator[list[float]]:
    """Give the CPU time that nbtool's loop spent between its beats, until the end; in time of the reference machine."""
    gaps: list[float] = []
    is_over = threading.Event()

    async def beat() -> None:
        before = time.thread_time()
        while not is_over.is_set():
            await asyncio.sleep(0.001)
            gaps.append((now := time.thread_time()) - before)
            before = now

    beating = background_loop().submit(beat())
    yield gaps
    is_over.set()
    beating.result(240)
    if max(gaps) >= STALL:
        scale = slowness()
        gaps[:] = [gap / scale for gap in gaps]


def run_without_stall(run: Callable[[], T]) -> T:
    """Return the result of a function, and fail if in each try the loop is busy with one thing for too long.

    Load on the machine, and what the process did before, lengthen some tries; a defect all of them.
    """
    tries: list[float] = []
    for _ in range(TRIES):
        with beats() as gaps:
            result = run()
        if max(gaps) < STALL:
            return result
        tries.append(max(gaps))
    raise AssertionError(f"stalled for {', '.join(f'{gap:.2f}' for gap in tries)} s, more than {STALL} s")
