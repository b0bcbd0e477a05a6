"""One database and the one thread of this process that writes to it."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

from nbtool.chat.journal import schema
from nbtool.chat.journal.blobs import extract, save
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.sidecar import is_recorded, read_in_sidecars

T = TypeVar("T")

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5)
"""How long a write waits before it tries a locked file again; the last holds for all further ones."""

CHANGE_SECONDS = 30.0
"""How long one statement of a change waits for another process's lock."""

MAX_BATCH = 100
"""Writes that are put into one transaction, where so many wait."""


@dataclass(frozen=True, slots=True)
class _Write:
    rows: list[Row]
    done: Future[None] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], None]
    is_last: bool = False


class Store:
    """A database file, or, without a path, one in memory. Safe from any thread.

    The thread is made when there is something to write, and does not keep the process from ending: a disk that hangs
    then hangs alone.
    """

    def __init__(self, path: Path | None, *, notebook: str = "") -> None:
        self.path = path
        self._notebook = notebook
        self._known_chats: set[str] = set()
        self._waiting: queue.SimpleQueue[_Write | _Job] = queue.SimpleQueue()
        self._starting = threading.RLock()  # a journal is closed where it is collected, which may be inside of this
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._abandoned = threading.Event()
        self._has_sidecar = False
        self.is_locked = False  # another process was found to hold the file when it was tried last

    def write(self, rows: list[Row]) -> Future[None]:
        """Write rows; the future is done when they are on the disk, and raises what kept them from it.

        A file that another process has locked is tried again until it is free, or until `abandon`.
        """
        write = _Write(rows)
        self._enqueue(write)
        return write.done

    def change(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Do something to the database on its own thread, after what was written before."""
        done: Future[T] = Future()

        def do() -> None:
            try:
                with _long_busy_timeout(self._open()) as connection:
                    done.set_result(work(connection))
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                done.set_exception(error)

        self._enqueue(_Job(do))
        return done

    def read(self, query: Callable[[sqlite3.Connection], T], *, seconds: float) -> T:
        """Ask the database something, after what was written before; the writing thread is not kept from its work.

        Raises:
            TimeoutError: the writing thread hangs for longer than that.
            sqlite3.Error, JournalError: it cannot be read.
        """
        if self.path is None:
            return self.change(query).result(seconds)
        if not self.path.exists():
            with closing(schema.connect(None)) as empty:
                return query(empty)
        try:
            self.change(lambda _: None).result(seconds)  # makes the tables those of this version, too
        except TimeoutError:
            raise
        except schema.DISK_ERRORS:
            pass  # what cannot be written may yet be read
        connection = schema.open_to_read(self.path)
        try:
            return query(connection)
        finally:
            connection.close()

    def expect_sidecar(self) -> None:
        """Look from now on whether a write is in the file already: another process may read it in from a sidecar."""
        self._has_sidecar = True

    def abandon(self) -> None:
        """Try a locked file no more: what waits for it fails."""
        self._abandoned.set()

    def close(self) -> Future[None]:
        """Close the file and end the thread; later writes open it again."""
        done: Future[None] = Future()

        def do() -> None:
            connection, self._connection = self._connection, None
            try:
                if connection:
                    connection.close()
            finally:
                done.set_result(None)

        self._enqueue(_Job(do, is_last=True))
        return done

    # --- on the thread ----------------------------------------------------------------------------------------

    def _enqueue(self, job: _Write | _Job) -> None:
        self._waiting.put(job)
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nbtool-journal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            job = self._waiting.get()
            batch: list[_Write] = []
            while isinstance(job, _Write):
                batch.append(job)
                if self._waiting.empty() or len(batch) == MAX_BATCH:
                    break
                job = self._waiting.get()
            if batch:
                self._write(batch)
            if isinstance(job, _Job):
                job.work()
                if job.is_last and self._is_idle():
                    return

    def _is_idle(self) -> bool:
        """Whether the thread may end, now that the file is closed; the next write makes another one."""
        with self._starting:
            if self._waiting.empty():
                self._thread = None
            return self._thread is None

    def _write(self, batch: list[_Write]) -> None:
        """Write what waits in one transaction: one wait for the disk, however many ask for it."""
        for attempt in count():
            try:
                self._commit(batch)
            except BaseException as error:  # noqa: BLE001 - it is told to those who wait
                self.is_locked = schema.is_locked(error)
                pause = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
                if self.is_locked and not self._abandoned.wait(pause):
                    continue
                for write in batch:
                    write.done.set_exception(error)
            else:
                self.is_locked = False
                for write in batch:
                    write.done.set_result(None)
            return

    def _commit(self, batch: list[_Write]) -> None:
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for write in batch:
                if not (self._has_sidecar and is_recorded(connection, write.rows)):
                    self._insert(connection, write.rows, self._notebook)
            connection.execute("COMMIT")
        except BaseException:
            self._known_chats.clear()  # the chats of this transaction are in no table now
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _insert(self, connection: sqlite3.Connection, rows: list[Row], notebook: str) -> None:
        for row in rows:
            if row.chat_id not in self._known_chats:
                values = (row.chat_id, row.at, notebook)
                connection.execute("INSERT OR IGNORE INTO chats VALUES (?, ?, ?)", values)
                self._known_chats.add(row.chat_id)
            body, contents = extract(row.body)
            inserted = connection.execute(
                "INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, ?, ?, ?, ?)",
                (row.at, row.chat_id, row.turn_id, row.kind, body),
            )
            save(connection, inserted.lastrowid or 0, contents)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._known_chats.clear()
            connection = schema.connect(self.path)
            try:
                if self.path:
                    read_in_sidecars(connection, self.path, self._insert)
            except BaseException:
                self._known_chats.clear()
                connection.close()
                raise
            self._connection = connection
        return self._connection


@contextmanager
def _long_busy_timeout(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Let statements wait longer for another process: a change is asked for by a person, and no turn waits for it."""
    connection.execute(f"PRAGMA busy_timeout = {CHANGE_SECONDS * 1000:.0f}")
    try:
        yield connection
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {schema.BUSY_SECONDS * 1000:.0f}")


def call_in_children(forget: Callable[[], object]) -> None:
    """Call something in every forked child: a connection must not be carried over (https://www.sqlite.org/howtocorrupt.html)."""
    if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
        os.register_at_fork(after_in_child=forget)
