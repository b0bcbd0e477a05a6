"""A file lock between kernels, in nbtool's data folder, so that no lock file appears next to the notebook."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbtool.errors import JournalError
from nbtool.files import take_lock
from nbtool.settings import data_dir

WAIT_SECONDS = 5.0
"""Longest time that a kernel waits for another one to finish writing."""


@contextmanager
def file_lock(path: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock for writing a file.

    Raises:
        JournalError: another kernel has held it for `seconds`.
        OSError: the lock file cannot be created.
    """
    folder = data_dir() / "locks"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    if (lock := take_lock(folder / f"{name}.lock", seconds)) is None:
        raise JournalError(f"Another kernel is writing {path.name}.")
    try:
        yield
    finally:
        lock.release()
