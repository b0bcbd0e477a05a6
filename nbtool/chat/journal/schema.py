"""The tables of the journal, and safe opening of files."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from nbtool.chat.journal import turn_table
from nbtool.chat.journal.durability import JournalConnection
from nbtool.chat.journal.filesystem import is_network_path
from nbtool.chat.journal.log_owner import RECORD, check_owner, forget_owner
from nbtool.clock import monotonic
from nbtool.errors import JournalError
from nbtool.files import locked
from nbtool.settings import display_path, make_private
from nbtool.text import shorten

BUSY_SECONDS = 1.0
"""Longest time that one statement waits for a lock of another process."""

CHECK_SECONDS = 0.1
"""Longest time of the integrity check when a file is opened; a slow one is checked in part."""

MAX_CHECKED = 32 * 1024 * 1024
"""Largest file, in bytes, that is checked as a whole: SQLite checks a table in one step, which nothing interrupts and
which takes 2 s for 1 GB. Damage elsewhere in a larger one is found when the damaged part is read."""

DISK_ERRORS = (sqlite3.Error, OSError, UnicodeError, OverflowError)
"""Errors caused by a broken disk or file; a damaged file may contain invalid text and numbers."""

GIVES_SPACE_BACK = "auto_vacuum = INCREMENTAL"
"""The setting of a new or rewritten file with which its free pages can be given back in slices."""

_LOCK = "-lock"
"""Ends the name of the lock under which a deleted journal is created again."""

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})

TABLES = f"""
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        chat_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX events_of_turn ON events (turn_id, seq);
    CREATE INDEX events_of_chat ON events (chat_id, seq);
    {turn_table.TURN_TABLE}
    CREATE TABLE chats (chat_id TEXT PRIMARY KEY, began REAL NOT NULL, notebook TEXT NOT NULL);
    CREATE TABLE contents (hash TEXT PRIMARY KEY, data NOT NULL);
    CREATE TABLE places (
        seq INTEGER NOT NULL,
        path TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (seq, path)
    ) WITHOUT ROWID;
    CREATE INDEX places_of_content ON places (hash);
"""

VERSION = 3
"""The version of the tables, stored in the file as `user_version`. No release wrote another one."""


def connect(path: Path | None, tables: str = TABLES) -> JournalConnection:
    """Open a journal for writing; create it if necessary. None is one in memory.

    On a network file system the rollback journal is used in place of the write-ahead log, which needs memory that all
    writers share (https://www.sqlite.org/wal.html, "Disadvantages").

    Raises:
        JournalError: the file is damaged, was written by another build, contains code, or lies beside the log of
            another one; it is left unchanged.
        sqlite3.Error: it cannot be opened or written.
        OSError: it cannot be created.
    """
    if path:
        check_owner(path)
        forget_owner(path)  # the number of a deleted file is given to another one
        _make_private(path)
        if path.stat().st_size:
            open_to_read(path, check=True).close()
    connection = sqlite3.connect(
        path or ":memory:",
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=JournalConnection,
    )
    try:
        _set(connection, "DELETE" if path and is_network_path(path) else "WAL")
        _create_tables(connection, tables)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path, *, check: bool = False, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a journal for reading, without changes in its folder other than those that reading needs.

    A statement waits for a lock of another process for at most `busy_seconds`.

    Raises:
        JournalError: the file is damaged (only detected with `check`), was written by another build, contains code, or
            lies beside the log of another one.
        sqlite3.Error: it is not a database, or cannot be opened.
    """
    check_owner(path)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{_read_only_uri(path)}", uri=True, timeout=busy_seconds, isolation_level=None
    )
    connection.text_factory = _decoded
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if (file_version := version(connection)) not in (0, VERSION):
            which = "a newer nbtool" if file_version > VERSION else "an earlier build"
            raise JournalError(f"The journal {display_path(path)} was written by {which} (format {file_version}).")
        _refuse_code(connection, path)
        if check and (damage := _find_damage(connection)):
            raise JournalError(
                f"The journal {display_path(path)} is damaged ({damage}).", fix="Move it away, or restore a copy."
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_code(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse views and triggers: nbtool creates none, and one that somebody else did may run without end."""
    query = "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger') LIMIT 1"
    if found := connection.execute(query).fetchone():
        kind, name = (shorten(" ".join(str(part).split()), 60) for part in found)
        raise JournalError(
            f"The journal {display_path(path)} contains the {kind} {name!r}, which nbtool does not create.",
            fix="Move it away, or restore a copy.",
        )


def _read_only_uri(path: Path) -> str:
    """Return the URI options with which SQLite opens a file for reading.

    An incomplete transaction of a killed process (a hot journal) is rolled back by the next reader, which needs write
    access for it: https://www.sqlite.org/lockingv3.html#hot_journals.
    """
    if not os.access(path.parent, os.W_OK):
        return "mode=ro&immutable=1"  # the log needs a writable folder for its index, so it is not read
    return "mode=rw" if path.with_name(f"{path.name}-journal").exists() else "mode=ro"


def is_locked(error: BaseException) -> bool:
    """Whether an error is temporary: another connection has locked the file."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    # The higher bits name the kind of lock: https://www.sqlite.org/rescode.html#extrc
    return isinstance(error, sqlite3.OperationalError) and code & 0xFF in _LOCKED


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables in a file; 0 if there are none."""
    return pragma_number(connection, "user_version")


def pragma_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the value of a pragma that is a number."""
    (number,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(number)


def _set(connection: JournalConnection, mode: str) -> None:
    connection.text_factory = _decoded
    if not pragma_number(connection, "page_count"):  # of an existing file it would wait for the lock
        connection.execute(f"PRAGMA {GIVES_SPACE_BACK}")
    for pragma in (
        "trusted_schema = OFF",  # restricts functions in views and triggers of the file: https://www.sqlite.org/pragma.html
        "secure_delete = ON",  # deleted data is overwritten
        f"journal_mode = {mode}",
        "synchronous = FULL",  # a commit survives a power cut; see `durability`
    ):
        connection.execute(f"PRAGMA {pragma}")
    (actual_mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.has_log = actual_mode == "wal"


def _create_tables(connection: sqlite3.Connection, tables: str) -> None:
    if version(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not version(connection):  # another process may have created them meanwhile
            for statement in filter(str.strip, tables.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK") if connection.in_transaction else None
        raise


def keep_aside(path: Path) -> Path | None:
    """Move a journal of an earlier build aside, whole, and return where it is; None if there is none of one.

    Raises:
        JournalError: it lies beside the log of another file.
        sqlite3.Error: it is locked, or is no database.
        OSError: it cannot be moved.
    """
    if not path.exists() or not path.stat().st_size:
        return None
    check_owner(path)  # before it is read: SQLite reads the log beside it, too
    forget_owner(path)  # reading makes a log, which may get the number of a deleted one
    if not 0 < _version_of(path) < VERSION:
        return None
    with locked(path.with_name(path.name + _LOCK), BUSY_SECONDS):
        former = _version_of(path)
        if not 0 < former < VERSION:  # another process has moved it meanwhile
            return None
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA journal_mode = DELETE")  # what is in its log is written to it
        aside = path.with_name(f"{path.stem}.format{former}{path.suffix}")
        number = 1
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.stem}.format{former}-{number}{path.suffix}")
        path.rename(aside)
        forget_owner(path)
        return aside


def _version_of(path: Path) -> int:
    uri = f"{path.absolute().as_uri()}?{_read_only_uri(path)}"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        return version(connection)  # of the head of the file: nothing of its schema is read


def _find_damage(connection: sqlite3.Connection, seconds: float = CHECK_SECONDS, max_bytes: int = MAX_CHECKED) -> str:
    """Return the first damage found in time; empty if there is none. Of a large file the latest event is read.

    Raises:
        sqlite3.DatabaseError: it cannot be read.
    """
    if pragma_number(connection, "page_count") * pragma_number(connection, "page_size") > max_bytes:
        connection.execute("SELECT * FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return ""
    deadline = monotonic() + seconds
    connection.set_progress_handler(lambda: monotonic() > deadline, 1_000)
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
    """Create the file with access for its owner only; restrict the folder too if it contains nothing else."""
    names = {entry.name for entry in os.scandir(path.parent)}
    beside = {f"{path.name}{end}" for end in ("-wal", "-shm", "-journal")}
    if path.name not in names:
        _create(path, names & beside)
    ours = {path.name, *beside, f"{path.name}{_LOCK}", f"{path.name}{RECORD}"}
    for written in [*(path.with_name(name) for name in ours), *([path.parent] if names <= ours else [])]:
        make_private(written)


def _create(path: Path, leftovers: set[str]) -> None:
    """Create an empty file, without what is left beside it of one that was deleted while it was in use.

    SQLite would take these files for those of the new one. The lock keeps two processes from creating it at once, of
    which the second would delete the files of the first.
    """
    with ExitStack() as stack:
        if leftovers:
            stack.enter_context(locked(path.with_name(path.name + _LOCK), BUSY_SECONDS))
            if path.exists():
                return
            for name in leftovers:
                path.with_name(name).unlink(missing_ok=True)
        # an existing file is never opened here: closing it would release SQLite's locks
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
