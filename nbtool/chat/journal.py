"""Every event on disk, before it is acted upon.

One SQLite file under `NBTOOL_HOME`, written through one thread, so that a slow disk never holds up the loop. Deltas are
written in batches, everything else at once. A journal that cannot be written says so once and goes on in memory: the
chat is never the worse for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from nbtool import settings
from nbtool.errors import JournalError, SettingsError
from nbtool.events import Event, TextDelta, ThinkingDelta

WAIT_SECONDS = 2.0
"""The longest that a turn waits for the disk; after that it goes on without."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    chat_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_turn ON events (turn_id, seq);
"""
_VERSION = 1


class Journal:
    """An append-only list of events, on disk or, without a path, in memory."""

    def __init__(self, path: Path | None) -> None:
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="nbtool-journal")
        self.path = path
        self._connection: sqlite3.Connection | None = None

    async def record(self, chat_id: str, turn_id: str, events: Iterable[Event]) -> None:
        """Write events; returns when they are on disk, or when the journal has given up on it."""
        rows = [(time.time(), chat_id, turn_id, event.kind, _as_json(event)) for event in events]
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(self._writer, self._write, rows)
        try:
            # Not `asyncio.wait_for`: until Python 3.12 it swallows a cancellation that comes as the write ends
            # (https://github.com/python/cpython/issues/86296), and the turn would go on.
            async with asyncio.timeout(WAIT_SECONDS):
                await asyncio.shield(written)
        except (TimeoutError, sqlite3.Error, OSError, JournalError) as error:
            self._give_up(error)

    def events(self, turn_id: str) -> list[dict[str, Any]]:
        """Give the events of a turn as plain data, in order; no event is ever made into code again."""
        from pydantic_core import from_json  # noqa: PLC0415 - only where history is read

        query = "SELECT body FROM events WHERE turn_id = ? ORDER BY seq"
        return [from_json(body) for (body,) in self._writer.submit(self._read, query, (turn_id,)).result()]

    def close(self) -> None:
        """Close the file; later records open it again."""
        self._writer.submit(self._disconnect).result()

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        with self._connect() as connection:
            connection.executemany("INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, ?, ?, ?, ?)", rows)

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._connect().execute(query, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            if self.path:
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self.path or ":memory:", timeout=WAIT_SECONDS / 2)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > _VERSION:
                connection.close()
                raise JournalError(f"The journal {self.path} was written by a newer nbtool (format {version}).")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _give_up(self, error: Exception) -> None:
        if self.path is None:
            return
        reason = "the disk took too long" if isinstance(error, TimeoutError) else str(error)
        warnings.warn(f"The journal {self.path} cannot be written ({reason}); history stays in memory.", stacklevel=2)
        self.path, self._connection = None, None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="nbtool-journal")


@cache
def journal() -> Journal:
    """Give the process's journal; `NBTOOL_JOURNAL=off` keeps it in memory."""
    if settings.from_environment("NBTOOL_JOURNAL") == "off":
        return Journal(None)
    try:
        return Journal(settings.home() / "journal.sqlite")
    except SettingsError as error:
        warnings.warn(f"{error} History stays in memory.", stacklevel=2)
        return Journal(None)


class Scribe:
    """Writes one turn into a journal: joins deltas, and lets nothing else pass before it is written."""

    def __init__(self, journal: Journal, chat_id: str, turn_id: str) -> None:
        self._journal = journal
        self._ids = (chat_id, turn_id)
        self._pending: list[TextDelta | ThinkingDelta] = []
        self._pieces: list[str] = []
        self._since = 0.0

    def note(self, delta: TextDelta | ThinkingDelta) -> bool:
        """Take a piece of prose; says whether it is time to write what has gathered."""
        if not self._pending or type(self._pending[-1]) is not type(delta):
            self._settle()
            self._pending.append(type(delta)(""))
        if not self._since:
            self._since = time.monotonic()
        self._pieces.append(delta.text)
        return time.monotonic() - self._since > 1.0

    async def write(self, *events: Event) -> None:
        """Write what has gathered, then these events."""
        self._settle()
        gathered, self._pending, self._since = self._pending, [], 0.0
        if gathered or events:
            await self._journal.record(*self._ids, [*gathered, *events])

    def _settle(self) -> None:
        if self._pending and self._pieces:
            self._pending[-1].text = "".join(self._pieces)
        self._pieces = []


def _as_json(event: Event) -> str:
    from pydantic_core import to_json  # noqa: PLC0415 - only where history is written

    return to_json(event, bytes_mode="base64", inf_nan_mode="null", serialize_unknown=True).decode()
