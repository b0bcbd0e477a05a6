"""Sidecar files: events that a process could not write before it ended because another one had locked the journal.

A sidecar is a separate database next to the journal, `journal.sqlite.left-ID`. It is renamed to this name when it is
complete, and the next process that opens the journal imports and deletes it. A write is identified by its first row, so
that one that reached the journal both directly and through a sidecar is stored once.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path

from nbtool.chat.journal.blobs import extract
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.schema import DISK_ERRORS
from nbtool.settings import display_path
from nbtool.threads.loop import report_warning

MARK = ".left-"
"""Separates the name of the journal and the id in the name of a sidecar."""

_PART = ".part"

Insert = Callable[[sqlite3.Connection, list[Row], str], None]


def write_sidecar(journal: Path, notebook: str, writes: Iterable[list[Row]]) -> Path:
    """Write rows to a new sidecar, each list as one write, and return its path.

    Raises:
        OSError, sqlite3.Error: it cannot be written.
    """
    path = journal.with_name(f"{journal.name}{MARK}{uuid.uuid4().hex}")
    part = path.with_name(path.name + _PART)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(part, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE rows (number, at REAL, chat_id, turn_id, kind, body, notebook)")
        for number, rows in enumerate(writes):
            values = [(number, row.at, row.chat_id, row.turn_id, row.kind, row.body, notebook) for row in rows]
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.execute("COMMIT")
    part.rename(path)
    return path


def read_in_sidecars(connection: sqlite3.Connection, journal: Path, insert: Insert) -> None:
    """Import the sidecars of a journal and delete them; a damaged one is left in place, with a warning.

    Raises:
        sqlite3.Error: the journal is locked, or cannot be written.
    """
    for path in sorted(journal.parent.glob(f"{journal.name}{MARK}*")):
        if not path.name.rpartition(MARK)[2].isalnum():  # skip incomplete sidecars and SQLite's own files
            continue
        try:
            writes = list(_read(path))
        except (*DISK_ERRORS, TypeError) as error:
            if path.exists():  # another process may have imported it meanwhile
                report_warning(f"The sidecar {display_path(path)} of the journal cannot be read ({error}).")
            continue
        _insert_writes(connection, writes, insert)
        path.unlink(missing_ok=True)


def is_recorded(connection: sqlite3.Connection, rows: list[Row]) -> bool:
    """Return whether a write is in the journal already."""
    if not rows:
        return True
    first = rows[0]
    body, _ = extract(first.content)
    stored = connection.execute(
        "SELECT 1 FROM events WHERE turn_id = ? AND at = ? AND kind = ? AND body = ? LIMIT 1",
        (first.turn_id, first.at, first.kind, body),
    )
    return stored.fetchone() is not None


def _read(path: Path) -> Iterator[tuple[str, list[Row]]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute(
            "SELECT number, notebook, at, chat_id, turn_id, kind, body FROM rows ORDER BY rowid"
        ).fetchall()
    for (_, notebook), rows in groupby(found, key=lambda row: (row[0], str(row[1]))):
        yield notebook, [Row(float(row[2]), *map(str, row[3:])) for row in rows]


def _insert_writes(connection: sqlite3.Connection, writes: list[tuple[str, list[Row]]], insert: Insert) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back after an exception
        for notebook, rows in writes:
            if not is_recorded(connection, rows):
                insert(connection, rows, notebook)
