"""A file lock between kernels, in nbtool's data folder, so that no lock file appears next to the notebook."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nbtool.errors import JournalError
from nbtool.settings import data_dir

WAIT_SECONDS = 5.0
"""Longest time that a kernel waits for another one to finish writing."""

RETRY_SECONDS = 0.004
"""Seconds between two attempts."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock for writing a file.

    Raises:
        JournalError: another kernel has held it for `WAIT_SECONDS`.
        OSError: the lock file cannot be created.
    """
    folder = data_dir() / "locks"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    handle = os.open(folder / f"{name}.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _wait_for(handle, path)
        yield
    finally:
        os.close(handle)  # releases the lock


def _wait_for(handle: int, path: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            raise JournalError(f"Another kernel is writing {path.name}.")
        time.sleep(RETRY_SECONDS)


def _try_lock(handle: int) -> bool:
    with suppress(BlockingIOError, PermissionError):
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists only on Windows

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - does not exist on Windows

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
