"""Functions for tests of executors: another process imports them from here, and nothing else of the tests."""

from __future__ import annotations

import os
import time
from pathlib import Path


def where(n: int = 0) -> list[int]:
    return [os.getpid(), n]


def slow(mark: str, seconds: float = 30) -> str:
    Path(mark).write_text("begun", encoding="utf-8")
    time.sleep(seconds)
    return "done"


def text_of(thing: object) -> str:
    return str(thing)


def broken() -> object:
    return open(os.devnull)  # noqa: PTH123 - a thing that cannot be pickled


def die() -> None:
    os._exit(1)
