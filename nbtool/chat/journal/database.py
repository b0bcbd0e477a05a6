"""One database and the thread of this process that writes to it."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from nbtool.chat.journal import schema
from nbtool.chat.journal.blobs import extract, save
from nbtool.chat.journal.durability import JournalConnection
from nbtool.chat.journal.log_owner import record_owner
from nbtool.chat.journal.replacement import Change, OpenFile, unfinished_rows
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.sidecar import is_recorded, read_in_sidecars
from nbtool.chat.journal.turn_table import note_event
from nbtool.errors import JournalError
from nbtool.threads.threadless import suspension

T = TypeVar("T")

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5)
"""Seconds between retries of a write to a locked file; the last value repeats."""

CHANGE_SECONDS = 30.0
"""Longest time that one statement of a change waits for a lock of another process."""

ABANDONED = "the journal has continued in memory"

MAX_BATCH = 100
"""Maximum writes in one transaction."""


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

    The thread is started by the first write. It is a daemon: a disk that hangs does not keep the process from ending.
    """

    def __init__(self, path: Path | None, *, notebook: str = "") -> None:
        self.path = path
        self._notebook = notebook
        self._known_chats: set[str] = set()
        self._waiting: queue.SimpleQueue[_Write | _Job] = queue.SimpleQueue()
        self._starting = threading.RLock()  # re-entrant: garbage collection may call close inside it
        self._thread: threading.Thread | None = None
        self._connection: JournalConnection | None = None
        self._file = OpenFile(None, None)
        self._carried: list[Row] = []  # of a file that was deleted or replaced, to be written to the next one
        self._change: Change = "unchanged"
        self._aside: Path | None = None
        self._stop_retries = threading.Event()
        self._deciding = threading.Lock()  # whether a batch is committed or abandoned
        self._is_abandoned = False
        self._committing: list[_Write] = []
        self._has_sidecar = False
        self.is_locked = False  # the last attempt found the file locked by another process

    def write(self, rows: list[Row]) -> Future[None]:
        """Write rows; the future is done when they are on disk, and has the exception of a failed write.

        A file that another process has locked is retried until it is unlocked, or until `abandon`.
        """
        write = _Write(rows)
        self._enqueue(write)
        return write.done

    def change(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run `work` on the database thread, after all earlier writes."""
        done: Future[T] = Future()

        def do() -> None:
            try:
                with _long_busy_timeout(self._open()) as connection:
                    connection.require_sync()
                    done.set_result(work(connection))
            except BaseException as error:  # noqa: BLE001 - raised in the caller
                done.set_exception(error)

        self._enqueue(_Job(do))
        return done

    def read(self, query: Callable[[sqlite3.Connection], T], *, seconds: float) -> T:
        """Run a query on a separate connection, after all earlier writes.

        Raises:
            TimeoutError: the writing thread is blocked for longer than `seconds`.
            sqlite3.Error, JournalError: it cannot be read.
        """
        if self.path is None:
            return self.change(query).result(seconds)
        if self._connection is None and not self.path.exists():
            with closing(schema.connect(None)) as empty:
                return query(empty)
        try:
            self.change(lambda _: None).result(seconds)  # creates the tables, too
        except TimeoutError:
            raise
        except schema.DISK_ERRORS:
            pass  # a file that cannot be written may still be readable
        connection = schema.open_to_read(self.path)
        try:
            return query(connection)
        finally:
            connection.close()

    def expect_sidecar(self) -> None:
        """Check from now on whether a write is stored already: another process may import it from a sidecar."""
        self._has_sidecar = True

    def take_change(self) -> Change:
        """Return what happened to the file since the last time that this was asked."""
        change, self._change = self._change, "unchanged"
        return change

    def take_aside(self) -> Path | None:
        """Return where a file of an earlier build was moved since the last time that this was asked."""
        aside, self._aside = self._aside, None
        return aside

    def abandon(self) -> set[Future[None]]:
        """Let every waiting write fail; return those that are being committed, which can still reach the file."""
        with self._deciding:
            self._is_abandoned = True
            committing = {write.done for write in self._committing}
        self._stop_retries.set()
        return committing

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
        with self._starting:
            if isinstance(job, _Job) and job.is_last and self._thread is None and self._waiting.empty():
                job.work()  # no file is open; garbage collection may come where no thread can start
                return
            self._waiting.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nbtool-journal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._do_next():
            pass

    def _do_next(self) -> bool:
        """Wait for writes or for a job and do them; return whether the thread is to end.

        A thread that waits holds nothing of what it did: a write leads to its turn, and to the journal of this file.
        """
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
            return job.is_last and self._is_idle()
        return False

    def _is_idle(self) -> bool:
        """Whether the thread may end, now that the file is closed; the next write starts another one."""
        with self._starting:
            if self._waiting.empty():
                self._thread = None
            return self._thread is None

    def _write(self, batch: list[_Write]) -> None:
        """Write a batch in one transaction, so that all its writes share one wait for the disk."""
        pauses = chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1]))
        while True:
            try:
                self._commit(batch)
            except BaseException as error:  # noqa: BLE001 - passed to the futures of the writes
                self._committing = []
                self.is_locked = schema.is_locked(error)
                if self.is_locked and not self._stop_retries.wait(next(pauses)):
                    continue
                for write in batch:
                    write.done.set_exception(error)
            else:
                self._committing = []
                self.is_locked = False
                for write in batch:
                    write.done.set_result(None)
            return

    def _commit(self, batch: list[_Write]) -> None:
        """Write a batch.

        Raises:
            JournalError: the file has been abandoned, or does not belong to its log.
            sqlite3.Error: it is locked or cannot be written.
        """
        if self._is_abandoned:
            raise JournalError(ABANDONED)
        connection = self._open()
        connection.prepare_commit(row for write in batch for row in write.rows)
        connection.execute("BEGIN IMMEDIATE")
        try:
            with connection:  # commits, or rolls back after an exception
                self._decide_to_commit(batch)
                for write in batch:
                    if not (self._has_sidecar and is_recorded(connection, write.rows)):
                        self._insert(connection, write.rows, self._notebook)
        except BaseException:
            self._known_chats.clear()  # the chats of this transaction were rolled back
            raise

    def _decide_to_commit(self, batch: list[_Write]) -> None:
        with self._deciding:
            if self._is_abandoned:  # while this waited for the lock: the rows are in memory now
                raise JournalError(ABANDONED)
            self._committing = batch

    def _insert(self, connection: sqlite3.Connection, rows: list[Row], notebook: str) -> None:
        for row in rows:
            if row.chat_id not in self._known_chats:
                values = (row.chat_id, row.at, notebook)
                connection.execute("INSERT OR IGNORE INTO chats VALUES (?, ?, ?)", values)
                self._known_chats.add(row.chat_id)
            body, contents = extract(row.content)
            inserted = connection.execute(
                "INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, ?, ?, ?, ?)",
                (row.at, row.chat_id, row.turn_id, row.kind, body),
            )
            seq = inserted.lastrowid or 0
            if contents:
                save(connection, seq, contents)
            note_event(connection, row, seq)

    def _open(self) -> JournalConnection:
        if self._connection and self.path:
            self._leave_changed_file(self._connection, self.path)
        if self._connection is None:
            self._known_chats.clear()
            self._aside = (schema.keep_aside(self.path) if self.path else None) or self._aside
            connection = schema.connect(self.path)
            try:
                if self.path:
                    read_in_sidecars(connection, self.path, self._insert)
                    self._write_carried(connection)
                    self._file = OpenFile.at(self.path)
                    record_owner(self.path)
            except BaseException:
                self._known_chats.clear()
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _leave_changed_file(self, connection: sqlite3.Connection, path: Path) -> None:
        """Close a file that is no longer the one at the path, and take the turns along that have not ended.

        Raises:
            JournalError: the file and the log at the path do not belong together; to open them would damage the file.
        """
        present = OpenFile.at(path)
        change = self._file.change_to(present)
        if change == "unchanged":
            if self._file.log != present.log:  # it has been created since
                self._file = present
                record_owner(path)
            return
        self._carried = unfinished_rows(connection, sorted(self._known_chats))
        if change == "mixed":
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # what a deleted log holds
            name = path.name
            raise JournalError(f"{name}, or its log {name}-wal, was deleted or replaced while in use")
        self._change, self._connection = change, None
        connection.close()

    def _write_carried(self, connection: sqlite3.Connection) -> None:
        if self._carried:
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back after an exception
                for row in self._carried:
                    if not is_recorded(connection, [row]):
                        self._insert(connection, [row], self._notebook)
            self._carried = []


class InlineStore(Store):
    """A store where no thread can be started: the caller itself writes, and a locked file is not waited for."""

    def __init__(self, path: Path | None, *, notebook: str = "") -> None:
        super().__init__(path, notebook=notebook)
        self._is_working = False
        self._stop_retries.set()  # nobody else could unlock the file while this thread waits

    def _enqueue(self, job: _Write | _Job) -> None:
        """Do it now, or after the running job: garbage collection may call `close` inside one."""
        self._waiting.put(job)
        if self._is_working:
            return
        self._is_working = True
        try:
            while not self._waiting.empty():
                job = self._waiting.get()
                if isinstance(job, _Write):
                    self._write([job])
                else:
                    job.work()
        finally:
            self._is_working = False


def open_store(path: Path | None, *, notebook: str = "") -> Store:
    """Return the store of a file, or of one in memory, that fits this process."""
    return (InlineStore if suspension() else Store)(path, notebook=notebook)


@contextmanager
def _long_busy_timeout(connection: JournalConnection) -> Iterator[JournalConnection]:
    """Wait longer for locks of another process: a user started the change, and no turn waits for it."""
    connection.execute(f"PRAGMA busy_timeout = {CHANGE_SECONDS * 1000:.0f}")
    try:
        yield connection
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {schema.BUSY_SECONDS * 1000:.0f}")


def call_in_children(forget: Callable[[], object]) -> None:
    """Call `forget` in every forked child: a connection must not be carried over (https://www.sqlite.org/howtocorrupt.html)."""
    if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
        os.register_at_fork(after_in_child=forget)
