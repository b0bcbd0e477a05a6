"""Files that several processes read and write: replaced as a whole, and locked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_SECONDS = 0.004
"""Seconds between two looks at a lock that another process holds."""


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield the path of a draft beside a file, which takes its place at the end: a reader finds one of the two, whole.

    Raises:
        OSError: the file cannot be replaced; it is as it was, and there is no draft.
    """
    draft = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes, *, is_private: bool = False, is_durable: bool = False) -> None:
    """Replace a file, or create it; a file that exists keeps its mode.

    If it `is_private`, only this account may read it, also if others could before. `is_durable` waits for the disk.

    Raises:
        OSError: it cannot be written; the former file is as it was.
    """
    with replaced(path) as draft:
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if is_private else 0o666)
        with open(handle, "wb") as file:  # noqa: PTH123 - opens a file descriptor, not a path
            file.write(data)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        if not is_private:
            with suppress(OSError):  # a new file has no mode to copy
                draft.chmod(path.stat().st_mode & 0o777)
    if is_durable:
        _sync_folder(path.parent)


def take_lock(path: Path, seconds: float = 0.0) -> BaseFileLock | None:
    """Lock a file, and return the lock; None if another process has held it for so many seconds.

    The lock ends with its process, also when that is killed. Any thread may release it.

    Raises:
        OSError: the file cannot be created.
        NotImplementedError: the file system has no locks.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only where a file is locked

    lock = FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=seconds, poll_interval=POLL_SECONDS)
    except Timeout:  # an OSError as well, which would read as a file that cannot be written
        return None
    return lock


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a file.

    Raises:
        TimeoutError: another process has held it for so many seconds.
        OSError: the file cannot be created.
        NotImplementedError: the file system has no locks.
    """
    if (lock := take_lock(path, seconds)) is None:
        raise TimeoutError(f"Another process holds {path.name}.")
    try:
        yield
    finally:
        lock.release()


def _sync_folder(folder: Path) -> None:
    """Flush a renamed entry to disk; not every system can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
