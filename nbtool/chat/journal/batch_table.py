"""The table of batches that providers have of this person: what was handed over and is not answered yet.

A batch is noted before anything of it is sent, by a tag of its own, and its lines by their ids, which are hashes of the
requests. The tables are there once a map has handed over a batch.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

TABLES = (
    "CREATE TABLE IF NOT EXISTS batches (tag TEXT PRIMARY KEY, place TEXT NOT NULL, at REAL NOT NULL,"
    " lines INTEGER NOT NULL, file_id TEXT NOT NULL DEFAULT '', batch_id TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE IF NOT EXISTS batch_lines (line_id TEXT, tag TEXT, PRIMARY KEY (line_id, tag)) WITHOUT ROWID",
)

KEPT_DAYS = 30
"""Days after which a batch is forgotten: no provider has its results for longer."""

AT_ONCE = 500
"""Ids that one query looks up."""


@dataclass(frozen=True, slots=True)
class NotedBatch:
    """A batch of the table: its tag, when it was noted, its number of lines, its ids at the provider as far as known.

    `line_ids` are those that were asked for.
    """

    tag: str
    at: float
    lines: int
    file_id: str
    batch_id: str
    line_ids: frozenset[str] = frozenset()


def note_batch(connection: sqlite3.Connection, tag: str, place: str, line_ids: Sequence[str]) -> None:
    """Note a batch before it is handed over; `place` is where. Batches that no provider has any more are forgotten."""
    with _changing(connection):
        old = time.time() - KEPT_DAYS * 86_400
        connection.execute("DELETE FROM batch_lines WHERE tag IN (SELECT tag FROM batches WHERE at < ?)", (old,))
        connection.execute("DELETE FROM batches WHERE at < ?", (old,))
        row = (tag, place, time.time(), len(line_ids))
        connection.execute("INSERT INTO batches (tag, place, at, lines) VALUES (?, ?, ?, ?)", row)
        connection.executemany("INSERT OR IGNORE INTO batch_lines VALUES (?, ?)", [(item, tag) for item in line_ids])


def note_ids(connection: sqlite3.Connection, tag: str, *, file_id: str = "", batch_id: str = "") -> None:
    """Note what a batch is called at its provider."""
    with _changing(connection):
        if file_id:
            connection.execute("UPDATE batches SET file_id = ? WHERE tag = ?", (file_id, tag))
        if batch_id:
            connection.execute("UPDATE batches SET batch_id = ? WHERE tag = ?", (batch_id, tag))


def find_batches(connection: sqlite3.Connection, place: str, line_ids: Sequence[str]) -> list[NotedBatch]:
    """Return the batches of a place that have some of these lines, the latest first; each line counts once."""
    found: dict[str, set[str]] = {}
    with _changing(connection):
        for start in range(0, len(line_ids), AT_ONCE):
            part = line_ids[start : start + AT_ONCE]
            query = f"SELECT tag, line_id FROM batch_lines WHERE line_id IN ({','.join('?' * len(part))})"
            for tag, line_id in connection.execute(query, part):
                found.setdefault(tag, set()).add(line_id)
        rows = connection.execute(
            "SELECT tag, at, lines, file_id, batch_id FROM batches WHERE place = ? ORDER BY at DESC", (place,)
        ).fetchall()
    taken: set[str] = set()
    batches = []
    for tag, at, lines, file_id, batch_id in rows:
        if own := found.get(tag, set()) - taken:
            taken |= own
            batches.append(NotedBatch(tag, at, lines, file_id, batch_id, frozenset(own)))
    return batches


def batch_ids(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of all batches that are noted."""
    with _changing(connection):
        return [item for (item,) in connection.execute("SELECT batch_id FROM batches WHERE batch_id != ''")]


def settle_lines(connection: sqlite3.Connection, tag: str, line_ids: Sequence[str]) -> int:
    """Forget lines whose answers are known; return how many the batch has left."""
    with _changing(connection):
        connection.executemany(
            "DELETE FROM batch_lines WHERE line_id = ? AND tag = ?", [(item, tag) for item in line_ids]
        )
        (left,) = connection.execute("SELECT count(*) FROM batch_lines WHERE tag = ?", (tag,)).fetchone()
        return int(left)


def forget_batch(connection: sqlite3.Connection, tag: str) -> None:
    """Forget a batch."""
    with _changing(connection):
        connection.execute("DELETE FROM batch_lines WHERE tag = ?", (tag,))
        connection.execute("DELETE FROM batches WHERE tag = ?", (tag,))


@contextmanager
def _changing(connection: sqlite3.Connection) -> Iterator[None]:
    """Make the tables if they are missing, and all changes of the block together."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in TABLES:
            connection.execute(table)
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
