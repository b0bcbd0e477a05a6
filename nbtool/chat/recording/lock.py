"""A file lock between kernels, in nbtool's data folder, so that no lock file appears next to the notebook."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbtool.errors import JournalError
from nbtool.settings import data_dir

WAIT_SECONDS = 5.0
"""Longest time that a kernel waits for another one to finish writing."""

RETRY_SECONDS = 0.004
"""Seconds between two attempts."""


@contextmanager
def file_lock(path: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock for writing a file.

    Raises:
        JournalError: another kernel has held it for `seconds`.
        OSError: the lock file cannot be created.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only where a recording is written

    folder = data_dir() / "locks"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    lock = FileLock(folder / f"{name}.lock", mode=0o600)
    try:
        held = lock.acquire(timeout=seconds, poll_interval=RETRY_SECONDS)
    except Timeout:  # an OSError as well, which would read as a file that cannot be written
        raise JournalError(f"Another kernel is writing {path.name}.") from None
    with held:
        yield
