"""The place of a file of answers: whether it can be one, and a lock by which only one map at a time writes it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nbtool.errors import BadUsage
from nbtool.files import take_lock

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_SUFFIX = "-running"
"""Ends the name of the file beside, which is there while a map runs."""


def check_place(path: Path) -> None:
    """Check that there can be a file at a path.

    Raises:
        nbtool.errors.BadUsage: it is a folder, or its folder does not exist.
    """
    if path.is_dir():
        raise BadUsage(f"{path} is a folder.", fix="Add the name of a file, such as `answers.sqlite`.")
    if not path.parent.is_dir():
        raise BadUsage(f"The folder {path.parent} does not exist.", fix="Create it, or choose another one.")


class SinkLock:
    """A lock that ends with its process, also when that is killed; beside the file, where all its users find it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f"{path.name}{LOCK_SUFFIX}")
        self._lock: BaseFileLock | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            nbtool.errors.BadUsage: another map has it, or the file beside cannot be created.
        """
        try:
            self._lock = take_lock(self._beside)
        except OSError as error:
            raise BadUsage(
                f"{self._path.name} cannot be used for answers ({error}).", fix="Choose another file."
            ) from error
        if self._lock is None:
            raise BadUsage(
                f"Another map writes {self._path.name} now.", fix="Wait until it has ended, or choose another file."
            )

    def release(self) -> None:
        """Release the lock; idempotent."""
        if self._lock is not None:
            with suppress(OSError):  # Windows does not delete an open file
                self._beside.unlink(missing_ok=True)  # before it is unlocked: nobody can have taken it meanwhile
            self._lock.release()
            self._lock = None
