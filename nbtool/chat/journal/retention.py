"""Retention, vacuum and erasure of the journal.

Nothing is deleted automatically unless a setting says so. Deleted data is overwritten, in the file and in its log.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from nbtool import settings
from nbtool.chat.journal import search
from nbtool.chat.journal.schema import pragma_number
from nbtool.errors import BadUsage
from nbtool.policy import site_policy
from nbtool.text import shorten

DAYS = "NBTOOL_JOURNAL_DAYS"
"""Environment variable: days after which a turn is deleted; without it turns are kept forever."""

MEGABYTES = "NBTOOL_JOURNAL_MB"
"""Environment variable: size of the journal above which its oldest turns are deleted."""

BATCH = 100
"""Turns that are deleted at a time while the journal is too large."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The age and the total size up to which turns are kept; None is no limit."""

    days: float | None = None
    megabytes: float | None = None

    @classmethod
    def from_environment(cls) -> Retention:
        """Read the environment; the days of the administrator's policy apply if they are fewer.

        Raises:
            BadUsage: a setting is not a number, or negative.
        """
        days, megabytes = settings.env(DAYS), settings.env(MEGABYTES)
        chosen = None if days is None else parse_limit(DAYS, days)
        return cls(
            min((one for one in (chosen, site_policy().journal_days) if one is not None), default=None),
            None if megabytes is None else parse_limit(MEGABYTES, megabytes),
        )


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The result of a vacuum: deleted turns, and the size of the file in bytes before and after."""

    turns: int
    before: int
    after: int


def vacuum(connection: sqlite3.Connection, retention: Retention) -> VacuumResult:
    """Delete turns beyond the retention and redundant deltas, and compact the file."""
    before, turns = _size(connection), _count(connection)
    _in_transaction(connection, lambda: _drop_older(connection, retention.days))
    _in_transaction(connection, lambda: _drop_superseded_deltas(connection))
    while retention.megabytes is not None and _used(connection) > retention.megabytes * 1_000_000:
        if not _in_transaction(connection, lambda: _drop_oldest(connection)):
            break
    _compact(connection)
    return VacuumResult(turns - _count(connection), before, _size(connection))


def erase(connection: sqlite3.Connection, id_: str = "") -> int:
    """Erase a chat or a turn by its full id, or everything; return the number of deleted turns."""
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
    """Parse a retention limit.

    Raises:
        BadUsage: it is not a number, or negative.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadUsage(f"{name}: expected a number of 0 or more, got {shorten(text, 40)!r}.")
    return number


def drop_older(connection: sqlite3.Connection, days: float) -> None:
    """Delete turns that ended before so many days."""
    _in_transaction(connection, lambda: _drop_older(connection, days))


def _drop_older(connection: sqlite3.Connection, days: float | None) -> None:
    if days is not None:
        query = "SELECT turn_id FROM events WHERE turn_id != '' GROUP BY turn_id HAVING max(at) < ?"
        _drop(connection, query, (time.time() - days * 86_400,))


def _drop_oldest(connection: sqlite3.Connection) -> int:
    """Delete the oldest turns; return the number of deleted events."""
    query = "SELECT turn_id FROM events WHERE turn_id != '' GROUP BY turn_id ORDER BY max(seq) LIMIT ?"
    return _drop(connection, query, (BATCH,))


def _drop(connection: sqlite3.Connection, which: str, values: tuple[float, ...]) -> int:
    dropped = connection.execute(f"DELETE FROM events WHERE turn_id IN ({which})", values).rowcount
    _drop_orphans(connection)
    return dropped


def _drop_superseded_deltas(connection: sqlite3.Connection) -> None:
    """Delete deltas of replies that were written in full later, and unreferenced contents."""
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
    """Compact the file and the log; while another kernel reads, the log is truncated when it has finished."""
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
    return pragma_number(connection, "page_count") * pragma_number(connection, "page_size")


def _used(connection: sqlite3.Connection) -> int:
    free = pragma_number(connection, "freelist_count")
    return (pragma_number(connection, "page_count") - free) * pragma_number(connection, "page_size")
