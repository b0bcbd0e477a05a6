"""The tables of the journal, their versions, and how a file is opened without harm to it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path

from nbtool.chat.journal.filesystem import is_network_path
from nbtool.errors import JournalError
from nbtool.settings import display_path
from nbtool.shorten import shorten

BUSY_SECONDS = 1.0
"""How long one statement waits for another process's lock."""

CHECK_SECONDS = 0.1
"""How long a file is looked through for damage when it is opened; a small one wholly, a large one in part."""

DISK_ERRORS = (sqlite3.Error, OSError, UnicodeError, OverflowError)
"""What comes of a disk or a file that is not in order; a damaged one may hold names and numbers that Python cannot."""

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})

_MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS events (
        seq INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        chat_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS events_of_turn ON events (turn_id, seq);
    """,
    """
    CREATE INDEX IF NOT EXISTS events_of_chat ON events (chat_id, seq);
    CREATE TABLE chats (chat_id TEXT PRIMARY KEY, began REAL NOT NULL, notebook TEXT NOT NULL);
    CREATE TABLE contents (hash TEXT PRIMARY KEY, data NOT NULL);
    CREATE TABLE places (
        seq INTEGER NOT NULL,
        path TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (seq, path)
    ) WITHOUT ROWID;
    CREATE INDEX places_of_content ON places (hash);
    """,
)
VERSION = len(_MIGRATIONS)
"""The version of the tables that this nbtool writes; it stands in the file as `user_version`."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a journal for writing, made or migrated where it has to be; None is one in memory.

    On a network file system the rollback journal is used in place of the write-ahead log, which needs memory that all
    writers share (https://www.sqlite.org/wal.html, "Disadvantages").

    Raises:
        JournalError: the file is damaged, or was written by a newer nbtool; it is left as it is.
        sqlite3.Error: it cannot be opened or written.
        OSError: it cannot be made.
    """
    if path:
        _make_private(path)
        if path.stat().st_size:
            open_to_read(path, check=True).close()
    connection = sqlite3.connect(
        path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _set(connection, "DELETE" if path and is_network_path(path) else "WAL")
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path, *, check: bool = False) -> sqlite3.Connection:
    """Open a journal so that nothing in its folder is changed but what reading needs.

    Raises:
        JournalError: the file is damaged (only looked for with `check`), or was written by a newer nbtool.
        sqlite3.Error: it is no database, or cannot be opened.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{_read_only_uri(path)}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    connection.text_factory = _decoded
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if (file_version := version(connection)) > VERSION:
            raise JournalError(
                f"The journal {display_path(path)} was written by a newer nbtool (format {file_version})."
            )
        if check and (damage := _find_damage(connection)):
            raise JournalError(
                f"The journal {display_path(path)} is damaged ({damage}).", fix="Move it away, or restore a copy."
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _read_only_uri(path: Path) -> str:
    """Say how SQLite is to open a file that is only read, as the options of its address.

    What a killed process had half done outside the log is undone by whoever reads next, who has to be able to write:
    https://www.sqlite.org/lockingv3.html#hot_journals.
    """
    if not os.access(path.parent, os.W_OK):
        return "mode=ro&immutable=1"  # without a place for its index, the log is not read
    return "mode=rw" if path.with_name(f"{path.name}-journal").exists() else "mode=ro"


def is_locked(error: BaseException) -> bool:
    """Whether an error is of a moment: another connection holds the file, which is in order."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return isinstance(error, sqlite3.OperationalError) and code & 0xFF in _LOCKED  # the rest says which lock


def version(connection: sqlite3.Connection) -> int:
    """Give the version of the tables in a file; 0 where there are none yet."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def _set(connection: sqlite3.Connection, mode: str) -> None:
    connection.text_factory = _decoded
    for pragma in (
        "trusted_schema = OFF",  # what a file's own views and triggers may call: https://www.sqlite.org/pragma.html
        "secure_delete = ON",  # what is erased is overwritten
        f"journal_mode = {mode}",
        "synchronous = FULL",  # a commit is on the disk, also when the machine loses power
    ):
        connection.execute(f"PRAGMA {pragma}")


def _migrate(connection: sqlite3.Connection) -> None:
    if version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version(connection), VERSION):
            for statement in filter(str.strip, _MIGRATIONS[number].split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK") if connection.in_transaction else None
        raise


def _find_damage(connection: sqlite3.Connection) -> str:
    """Look for damage, not for ever; a check that was not finished found none."""
    deadline = time.monotonic() + CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 1_000)
    try:
        (report,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return ""
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return "" if report == "ok" else shorten(" ".join(str(report).split()), 200)


def _make_private(path: Path) -> None:
    """Make the file for its owner alone, and the folder too where it holds nothing else yet."""
    names = {entry.name for entry in os.scandir(path.parent)}
    if path.name not in names:  # one that is there is not opened beside SQLite: closing it would end SQLite's locks
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    ours = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))]
    for one in [*ours, *([path.parent] if names <= {each.name for each in ours} else [])]:
        if one.exists() and stat.S_IMODE(one.stat().st_mode) & 0o077:
            one.chmod(0o700 if one.is_dir() else 0o600)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
