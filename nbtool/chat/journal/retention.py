"""What of the journal is kept, and for how long: retention, vacuum, erase.

Nothing goes by itself unless a setting says so. What goes is overwritten, in the file and in its log.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from nbtool import settings
from nbtool.chat.journal import search
from nbtool.errors import BadUsage
from nbtool.shorten import shorten

DAYS = "NBTOOL_JOURNAL_DAYS"
"""The environment variable that says after how many days a turn goes; without it turns stay for ever."""

MEGABYTES = "NBTOOL_JOURNAL_MB"
"""The environment variable that says how large the journal may be before its oldest turns go."""

BATCH = 100
"""Turns that go at a time while the journal is too large."""


@dataclass(frozen=True, slots=True)
class Retention:
    """For how long, and up to what size, turns are kept; None is for ever, and of any size."""

    days: float | None = None
    megabytes: float | None = None

    @classmethod
    def from_environment(cls) -> Retention:
        """Read the environment.

        Raises:
            BadUsage: a setting is no number, or less than nothing.
        """
        days, megabytes = settings.env(DAYS), settings.env(MEGABYTES)
        return cls(
            None if days is None else parse_limit(DAYS, days),
            None if megabytes is None else parse_limit(MEGABYTES, megabytes),
        )


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """What a vacuum did: turns that went, and the file's bytes before and after."""

    turns: int
    before: int
    after: int


def vacuum(connection: sqlite3.Connection, retention: Retention) -> VacuumResult:
    """Let go what is too old or too much, what is said twice, and the room it took."""
    before, turns = _size(connection), _count(connection)
    _in_transaction(connection, lambda: _drop_older(connection, retention.days))
    _in_transaction(connection, lambda: _drop_superseded_deltas(connection))
    while retention.megabytes is not None and _used(connection) > retention.megabytes * 1_000_000:
        if not _in_transaction(connection, lambda: _drop_oldest(connection)):
            break
    _compact(connection)
    return VacuumResult(turns - _count(connection), before, _size(connection))


def erase(connection: sqlite3.Connection, id_: str = "") -> int:
    """Erase a chat or a turn by its whole id, or everything; gives how many turns went."""
    turns = _count(connection)

    def drop() -> None:
        if id_:
            connection.execute("DELETE FROM events WHERE chat_id = ? OR turn_id = ?", (id_, id_))
        else:
            for table in ("events", "places", "contents", "chats"):
                connection.execute(f"DELETE FROM {table}")

    _in_transaction(connection, drop)
    _compact(connection)
    return turns - _count(connection)


def parse_limit(name: str, text: str) -> float:
    """Read how much is kept.

    Raises:
        BadUsage: it is no number, or less than nothing.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadUsage(f"{name} is {shorten(text, 40)!r}; a number of 0 or more is expected.")
    return number


def _drop_older(connection: sqlite3.Connection, days: float | None) -> None:
    if days is not None:
        query = "SELECT turn_id FROM events WHERE turn_id != '' GROUP BY turn_id HAVING max(at) < ?"
        _drop(connection, query, (time.time() - days * 86_400,))


def _drop_oldest(connection: sqlite3.Connection) -> int:
    """Drop the oldest turns, whether any was left to drop."""
    query = "SELECT turn_id FROM events WHERE turn_id != '' GROUP BY turn_id ORDER BY max(seq) LIMIT ?"
    return _drop(connection, query, (BATCH,))


def _drop(connection: sqlite3.Connection, which: str, values: tuple[float, ...]) -> int:
    dropped = connection.execute(f"DELETE FROM events WHERE turn_id IN ({which})", values).rowcount
    _drop_orphans(connection)
    return dropped


def _drop_superseded_deltas(connection: sqlite3.Connection) -> None:
    """Drop the fragments of replies that were written whole afterwards, and what nothing points to any more."""
    connection.execute("""
        DELETE FROM events WHERE kind IN ('text_delta', 'thinking_delta') AND EXISTS (
            SELECT 1 FROM events AS later
            WHERE later.turn_id = events.turn_id AND later.seq > events.seq AND later.kind = 'reply_finished')
    """)
    _drop_orphans(connection)


def _drop_orphans(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM places WHERE seq NOT IN (SELECT seq FROM events)")
    connection.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM places)")
    connection.execute("DELETE FROM chats WHERE chat_id NOT IN (SELECT chat_id FROM events)")


def _compact(connection: sqlite3.Connection) -> None:
    """Give back the room, also in the log; where another kernel reads just now, its log goes when it is done."""
    _in_transaction(connection, lambda: _drop_orphans(connection))
    _in_transaction(connection, lambda: search.clear_index(connection))
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _in_transaction(connection: sqlite3.Connection, work: Callable[[], object]) -> object:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = work()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return done


def _count(connection: sqlite3.Connection) -> int:
    query = "SELECT count(DISTINCT turn_id) FROM events WHERE turn_id != ''"
    return int(connection.execute(query).fetchone()[0])


def _size(connection: sqlite3.Connection) -> int:
    return _pragma(connection, "page_count") * _pragma(connection, "page_size")


def _used(connection: sqlite3.Connection) -> int:
    free = _pragma(connection, "freelist_count")
    return (_pragma(connection, "page_count") - free) * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
