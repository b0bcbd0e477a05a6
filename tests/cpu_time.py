"""CPU time as a measure of work: of several tries the least, in seconds of one machine whatever runs the tests."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

REFERENCE = 0.009
"""CPU time of `_fixed_work` on the machine that the bounds of the tests were written for."""

TRIES = 4
"""How often a run that takes too long is tried again: load on a machine lengthens some runs, a defect all of them."""

Clock = Callable[[], float]
T = TypeVar("T")


def run_within(seconds: float, run: Callable[[], T], clock: Clock = time.thread_time) -> T:
    """Return the result of a function, and fail if each try takes more than these seconds of the reference machine.

    `clock` measures this thread; give `time.process_time` where the work is done on others.
    """
    tries: list[float] = []
    for _ in range(TRIES):
        began = clock()
        result = run()
        took = clock() - began
        if took < seconds or (took := took / slowness()) < seconds:
            return result
        tries.append(took)
    raise AssertionError(f"took {', '.join(f'{took:.2f}' for took in tries)} s, more than {seconds} s")


def check_growth(read: Callable[[int], object], sizes: tuple[int, int], room: float, floor: float = 0.02) -> None:
    """Fail if the time for the larger size is more than `room` times linear growth over that for the smaller one.

    A quadratic reading grows by the square of the sizes' ratio: `room` has to be below that ratio.
    Longer texts meet more collections, so the collector is off.
    """
    small, large = sizes
    least = {small: float("inf"), large: float("inf")}
    for _ in range(TRIES):
        for size in sizes:
            with without_collector():
                began = time.thread_time()
                read(size)
                least[size] = min(least[size], time.thread_time() - began)
        if least[large] < room * large / small * max(least[small], floor):
            return
    raise AssertionError(f"{small:,}: {least[small]:.3f} s, {large:,}: {least[large]:.3f} s")


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep the garbage collector off: a collection takes as long as the process is large."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def slowness() -> float:
    """Return how many times slower than the reference machine this one is now; at least 1."""
    return max(1.0, min(_seconds_of_fixed_work() for _ in range(3)) / REFERENCE)


def _seconds_of_fixed_work() -> float:
    began = time.thread_time()
    texts: dict[int, str] = {}
    for number in range(40_000):
        texts[number % 1_000] = f"{number}" + "a"
    return time.thread_time() - began
