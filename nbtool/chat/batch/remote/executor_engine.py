"""A pool of `concurrent.futures` as the engine of a batch: it never runs a task twice, and needs no claims."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STOP_FILE = "stop"
"""Name of the file that stops the tasks of a batch on this machine."""


@dataclass(frozen=True, slots=True)
class FileLink:
    """Reads from a file of this machine whether the batch was stopped; on another machine it never is."""

    path: str

    def connect(self) -> None:
        """Do nothing."""

    def is_stopped(self) -> bool:
        """Whether the file is there, or the process of the pool is gone."""
        parent = multiprocessing.parent_process()
        return Path(self.path).exists() or (parent is not None and not parent.is_alive())

    def claim(self, _: int) -> bool:
        """Return True: no prompt is sent twice."""
        return True


class ExecutorEngine:
    """Runs chunks in a pool. A pool that lost a process is broken: nothing is sent again."""

    repeats = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._folder = Path(tempfile.mkdtemp(prefix="nbtool-map-"))

    def count_slots(self) -> int:
        """Return the size of the pool; a pool of another library does not say it."""
        count = getattr(self._executor, "_max_workers", 0)
        return count if isinstance(count, int) else 0

    def share(self, value: Any) -> Any:
        """Return the value itself: each task gets a copy."""
        return value

    def link(self) -> FileLink:
        """Return the link that reads the stop file."""
        return FileLink(str(self._folder / STOP_FILE))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a task to the pool."""
        return self._executor.submit(function, *arguments)

    def is_open(self) -> bool:
        """Return True: a pool that is shut down or broken ends its futures."""
        return True

    def is_loss(self, error: BaseException) -> bool:
        """Whether the pool is broken or was shut down."""
        return isinstance(error, BrokenExecutor | CancelledError)

    def offer_claims(self, _: Sequence[int]) -> None:
        """Do nothing."""

    def withdraw_claims(self, _: Sequence[int]) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Write the stop file."""
        if self._folder.is_dir():
            (self._folder / STOP_FILE).touch()

    def close(self) -> None:
        """Remove the stop file."""
        shutil.rmtree(self._folder, ignore_errors=True)
