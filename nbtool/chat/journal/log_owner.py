"""Which database a write-ahead log belongs to, so that a kernel that starts later does not mix it into another one.

SQLite applies the log beside a database to whatever file is there. The numbers of both files are recorded while they
are in use: if the log is still the same file and the database is not, another database was moved into its place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from nbtool.errors import JournalError
from nbtool.settings import display_path

RECORD = "-owner"
"""Ends the name of the file that holds the numbers of a database and its log."""

_MAX_BYTES = 100
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)  # a link is not written through


def record_owner(path: Path) -> None:
    """Record that the log beside a database is its own; without effect if there is none, or in a read-only folder."""
    with suppress(OSError):
        text = f"{_number_of(path)} {_number_of(_log_of(path))}\n"
        descriptor = os.open(_record_of(path), _WRITE, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)


def forget_owner(path: Path) -> None:
    """Remove the record, until the database at this path is open and has a log of its own."""
    with suppress(OSError):
        _record_of(path).unlink(missing_ok=True)


def check_owner(path: Path) -> None:
    """Check, before a database is opened, that the log beside it is not that of another one.

    Raises:
        JournalError: it is; nothing was changed.
    """
    try:
        with _record_of(path).open("rb") as file:
            database, log = map(int, file.read(_MAX_BYTES).split())
        is_foreign = _number_of(_log_of(path)) == log and _number_of(path) != database
    except (OSError, ValueError):
        return  # no log, or no record of it
    if is_foreign:
        raise JournalError(
            f"Another file was moved to {display_path(path)}, beside the log of the former one ({path.name}-wal).",
            fix=f"Close all kernels, and put the former file back, or delete {path.name}-wal and {path.name}-shm.",
        )


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{RECORD}")


def _number_of(path: Path) -> int:
    return path.stat().st_ino
