"""Retention, vacuum and erasure of the journal.

Nothing is deleted automatically unless a setting says so. A vacuum deletes and gives space back in slices, each a
transaction of its own, with pauses in which other processes write. Deleted data is overwritten, in the file and in its
log; but SQLite leaves a copy of some rows in a page when it moves them there, which `secure_delete` does not overwrite
when the row is deleted. An erasure therefore rewrites the whole file, which other processes wait for.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from nbtool import settings
from nbtool.chat.journal import kept_table, search
from nbtool.chat.journal.schema import GIVES_SPACE_BACK, pragma_number
from nbtool.clock import monotonic
from nbtool.errors import BadUsage
from nbtool.policy import site_policy
from nbtool.text import shorten

DAYS = "NBTOOL_JOURNAL_DAYS"
"""Environment variable: days after which a turn is deleted; without it turns are kept forever."""

MEGABYTES = "NBTOOL_JOURNAL_MB"
"""Environment variable: size of the journal above which its oldest turns are deleted."""

TURNS = 100
"""Turns that are deleted in one transaction: other processes wait for some 20 ms, and give up after 1,000."""

LISTED = 10_000
"""The oldest turns that are listed at a time while the journal is too large; each list reads the whole index."""

DELTAS = 2_000
"""Deltas that are deleted in one transaction."""

PAGES = 1_000
"""Pages, of 4 KB, that are given back in one transaction."""

MAX_PAUSE = 0.1
"""Longest pause after a slice, in seconds; a shorter slice has one of its own length. A process that waits for the lock
asks for it every 100 ms or more often (`sqliteDefaultBusyCallback`), and would miss a shorter one."""

INCREMENTAL = 2
"""The value of `auto_vacuum` with which a file can be made smaller in slices."""

T = TypeVar("T")


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
            min((number for number in (chosen, site_policy().journal_days) if number is not None), default=None),
            None if megabytes is None else parse_limit(MEGABYTES, megabytes),
        )


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The result of a vacuum: deleted turns, the size of the file in bytes before and after, and what is free in it."""

    turns: int
    before: int
    after: int
    free: int


def vacuum(
    connection: sqlite3.Connection,
    retention: Retention,
    *,
    rewrite: bool = False,
    between: Callable[[float], None] = time.sleep,
) -> VacuumResult:
    """Delete turns beyond the retention and redundant deltas, and make the file smaller, in slices.

    `between` is called after each slice with the seconds to wait. `rewrite` rewrites the whole file.
    """
    before = _size(connection)
    turns = _run(
        chain(
            _drop_older(connection, retention.days),
            _drop_superseded_deltas(connection),
            _drop_oldest(connection, retention.megabytes),
        ),
        between,
    )
    if turns:
        _run((0 for _ in search.clear_index(connection)), between)
    if rewrite:
        _rewrite(connection)
    else:
        _run(_give_space_back(connection), between)
        _truncate_log(connection)
    return VacuumResult(turns, before, _size(connection), _free(connection))


def erase(connection: sqlite3.Connection, id_: str = "") -> int:
    """Erase a chat or a turn by its full id, or everything; return the number of deleted turns."""

    def drop() -> int:
        turns = _count(connection)
        if id_:
            for table in ("events", "turns"):
                connection.execute(f"DELETE FROM {table} WHERE chat_id = ? OR turn_id = ?", (id_, id_))
        else:
            for table in ("events", "turns", "places", "contents", "chats"):
                connection.execute(f"DELETE FROM {table}")
        kept_table.drop_answers(connection)
        return turns - _count(connection)

    turns = _in_transaction(connection, drop)
    for _ in search.clear_index(connection):
        pass
    _rewrite(connection)
    return turns


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
    """Delete turns that ended before so many days, in slices."""
    _run(_drop_older(connection, days), time.sleep)


def _run(slices: Iterable[int], between: Callable[[float], None], clock: Callable[[], float] = monotonic) -> int:
    """Run slices, each of which returns how many turns it deleted; return how many all did."""
    turns, began = 0, clock()
    for count in slices:
        turns += count
        between(min(clock() - began, MAX_PAUSE))
        began = clock()
    return turns


def _drop_older(connection: sqlite3.Connection, days: float | None) -> Iterator[int]:
    if days is None:
        return
    query = """
        SELECT turn_id, max(seq) FROM events WHERE turn_id > ? GROUP BY turn_id HAVING max(at) < ?
        ORDER BY turn_id LIMIT ?
    """
    before, after = time.time() - days * 86_400, ""
    while turns := connection.execute(query, (after, before, TURNS)).fetchall():
        yield _drop_turns(connection, turns)
        after = turns[-1][0]


def _drop_oldest(connection: sqlite3.Connection, megabytes: float | None) -> Iterator[int]:
    query = """
        SELECT turn_id, max(seq) FROM events WHERE turn_id != '' GROUP BY turn_id HAVING max(seq) <= ?
        ORDER BY max(seq) LIMIT ?
    """
    (latest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
    dropped = 1
    while dropped and megabytes is not None:
        turns, dropped = connection.execute(query, (latest, LISTED)).fetchall(), 0
        for begin in range(0, len(turns), TURNS):
            if _size(connection) - _free(connection) <= megabytes * 1_000_000:
                return
            dropped += (count := _drop_turns(connection, turns[begin : begin + TURNS]))
            yield count


def _drop_turns(connection: sqlite3.Connection, turns: list[tuple[Any, int]]) -> int:
    """Delete turns, each listed by its id and its last event, unless it was changed since; return how many."""
    query = """
        SELECT turn_id, seq, chat_id FROM events WHERE turn_id = (SELECT turn_id FROM events WHERE seq = ?)
        ORDER BY seq
    """

    def drop() -> int:
        dropped = 0
        for turn_id, last in turns:
            rows = connection.execute(query, (last,)).fetchall()
            if rows and rows[-1][:2] == (turn_id, last):
                _drop_events(connection, [row[1:] for row in rows])
                connection.execute("DELETE FROM turns WHERE turn_id = ?", (turn_id,))
                dropped += 1
        kept_table.drop_answers(connection)
        return dropped

    return _in_transaction(connection, drop)


def _drop_superseded_deltas(connection: sqlite3.Connection) -> Iterator[int]:
    """Delete deltas of replies that were written in full later."""
    is_superseded = """
        kind IN ('text_delta', 'thinking_delta') AND EXISTS (
            SELECT 1 FROM events AS later
            WHERE later.turn_id = events.turn_id AND later.seq > events.seq AND later.kind = 'reply_finished')
    """
    query = f"SELECT seq FROM events WHERE seq > ? AND {is_superseded} ORDER BY seq LIMIT ?"
    again = f"SELECT seq, chat_id FROM events WHERE seq = ? AND {is_superseded}"  # another process may have erased it
    after = -1
    while found := connection.execute(query, (after, DELTAS)).fetchall():
        after = found[-1][0]

        def drop(found: list[tuple[int]] = found) -> None:
            _drop_events(connection, [row for seq in found for row in connection.execute(again, seq).fetchall()])

        _in_transaction(connection, drop)
        yield 0


def _drop_events(connection: sqlite3.Connection, rows: list[tuple[int, Any]]) -> None:
    """Delete events, each given with its chat, and what only they refer to."""
    seqs = [(seq,) for seq, _ in rows]
    hashes = {row for seq in seqs for row in connection.execute("SELECT hash FROM places WHERE seq = ?", seq)}
    chats = {(chat_id,) for _, chat_id in rows}
    for statement, values in (
        ("DELETE FROM events WHERE seq = ?", seqs),
        ("DELETE FROM places WHERE seq = ?", seqs),
        ("DELETE FROM contents WHERE hash = ? AND hash NOT IN (SELECT hash FROM places)", hashes),
        ("DELETE FROM chats WHERE chat_id = ? AND chat_id NOT IN (SELECT chat_id FROM events)", chats),
    ):
        connection.executemany(statement, values)


def _drop_orphans(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM places WHERE seq NOT IN (SELECT seq FROM events)")
    connection.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM places)")
    connection.execute("DELETE FROM chats WHERE chat_id NOT IN (SELECT chat_id FROM events)")


def _give_space_back(connection: sqlite3.Connection) -> Iterator[int]:
    """Move the last pages of the file to free ones and cut it."""
    if pragma_number(connection, "auto_vacuum") == INCREMENTAL:
        for _ in range(0, pragma_number(connection, "freelist_count"), PAGES):
            connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")  # execute ends it after one page
            yield 0


def _rewrite(connection: sqlite3.Connection) -> None:
    """Rewrite the whole file, without anything that was deleted; other processes wait for it."""
    _in_transaction(connection, lambda: _drop_orphans(connection))
    connection.execute(f"PRAGMA {GIVES_SPACE_BACK}")
    connection.execute("VACUUM")
    _truncate_log(connection)


def _truncate_log(connection: sqlite3.Connection) -> None:
    """Truncate the log, which has deleted data; while another kernel reads, it is done when that has finished."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _in_transaction(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
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


def _free(connection: sqlite3.Connection) -> int:
    return pragma_number(connection, "freelist_count") * pragma_number(connection, "page_size")
