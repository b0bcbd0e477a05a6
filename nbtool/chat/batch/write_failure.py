"""Errors of files that a map writes: which file it is, and what can be done."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from nbtool.errors import AnswersNotWritten

FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def explained_failure(file: str, goes_on: str = "Map again to go on") -> Iterator[None]:
    """Name the file in an error of the disk, and say what can be done once that is corrected.

    Raises:
        nbtool.errors.AnswersNotWritten: the file cannot be written or read.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if is_full(error):
            message, fix = f"{file} cannot be written: the disk is full.", f"{goes_on} once there is space."
        else:
            message, fix = f"{file} cannot be written or read ({error}).", f"{goes_on} once it can."
        raise AnswersNotWritten(message, fix=fix) from error


def is_full(error: sqlite3.Error | OSError) -> bool:
    """Whether an error says that there is no space left."""
    if isinstance(error, OSError):
        return error.errno in FULL_DISK
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_FULL
