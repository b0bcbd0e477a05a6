"""The journal of a process: write, read, wait for a locked or slow file, fall back to memory if it is broken."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nbtool import settings
from nbtool.chat.journal import queries, retention
from nbtool.chat.journal.database import Store, call_in_children, open_store
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.schema import BUSY_SECONDS, DISK_ERRORS
from nbtool.chat.journal.sidecar import write_sidecar
from nbtool.chat.journal.storage import is_in_memory
from nbtool.clock import monotonic
from nbtool.errors import JournalError, SettingsError
from nbtool.event_json import event_data
from nbtool.events import Event
from nbtool.policy import site_policy
from nbtool.text import count_of
from nbtool.threads.loop import report_warning

T = TypeVar("T")

WAIT_SECONDS = 1.8
"""Longest time that a turn waits for the disk; then it continues without waiting."""

MAX_BEHIND = 64 * 1024 * 1024
"""Maximum characters of events in memory that wait for a locked or slow file; then the file is abandoned."""

EXIT_SECONDS = 5.0
"""Longest time that the process exit waits for a locked or slow file with pending writes."""

ADMIN_TIMEOUT_SECONDS = 600.0
"""Timeout of searches and maintenance that a user started."""

BEHIND_SECONDS = 5.0
"""The same timeout when the file is known to be locked or slow."""


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()
"""The journals of this process that are in use; an unused one is closed when it is collected."""


class Journal:
    """An append-only list of events, on disk or, without a path, in memory.

    `notebook` is the path or the name of the notebook of its chats, if known, and `opened` is when this process began
    to use it, in seconds since the epoch; a turn waits for the disk for at most
    `wait_seconds`; events of more than `max_behind` characters do not wait for a locked or slow file.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        notebook: str = "",
        wait_seconds: float = WAIT_SECONDS,
        max_behind: int = MAX_BEHIND,
    ) -> None:
        self.path = path
        self._wait_seconds, self._max_behind = wait_seconds, max_behind
        self.notebook = notebook[:1_000]
        self.opened = time.time()
        self._store = open_store(path, notebook=self.notebook)
        self._closing = weakref.finalize(self, self._store.close)
        self._closing.atexit = False
        self._abandoned_store: Path | None = None
        self._behind: dict[Future[None], list[Row]] = {}
        self._size_behind = 0
        self._has_warned_of_delay = False
        self._lock = threading.Lock()
        _OPEN.add(self)

    async def write(self, chat_id: str, turn_id: str, events: Iterable[Event]) -> None:
        """Write events; returns when they are on disk, or after `wait_seconds`.

        Writes to a file that is locked by another process or on a slow disk are completed later, and turns do not wait
        for it until then; a broken file is abandoned.
        """
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(error: BaseException | None) -> None:
            if not ended.done():
                ended.set_exception(error) if error else ended.set_result(None)

        stop_waiting = self.begin_write(chat_id, turn_id, events, settle)
        try:
            await ended
        except asyncio.CancelledError:
            stop_waiting()
            raise

    def begin_write(
        self,
        chat_id: str,
        turn_id: str,
        events: Iterable[Event],
        on_end: Callable[[BaseException | None], object],
    ) -> Callable[[], None]:
        """Start what `write` awaits, without a task: each costs iterations of the loop, several per round.

        `on_end` is called in the caller's context on its loop, with the error if there is one, perhaps before this
        returns. The function returned stops waiting for the file, which is still written; `on_end` is not called then.
        """
        now = time.time()
        rows = [Row(now, chat_id, turn_id, event.kind, event_data(event)) for event in events]
        store = self._store
        write = store.write(rows)

        def end(error: BaseException | None) -> None:
            if isinstance(error, TimeoutError):
                self._postpone(write, rows)
            elif isinstance(error, (*DISK_ERRORS, JournalError)):
                if store is self._store:
                    self._fall_back_to_memory(error)
                self._store.write(rows)
            elif error:
                on_end(error)
                return
            self._report_change()
            on_end(None)

        if self._behind:
            end(TimeoutError())
            return lambda: None
        cancel = _call_when_written(write, self._wait_seconds, end)

        def stop_waiting() -> None:
            cancel()
            self._postpone(write, rows, is_quiet=True)  # nothing waits for it any more, but the process exit has to

        return stop_waiting

    def events(self, turn_id: str) -> list[dict[str, Any]]:
        """Return the events of a turn as plain data, in order; `event_json` converts them to events.

        Raises:
            JournalError: the journal cannot be read.
        """
        return self.read(lambda connection: queries.events(connection, turn_id))

    def read(self, query: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        """Query the journal: the file, and events that are only in memory.

        Raises:
            JournalError: the journal cannot be read.
        """
        results = (
            self._store.read(query, seconds=ADMIN_TIMEOUT_SECONDS)
            if self.path is None
            else self._read(self._store, query)
        )
        self._report_change()
        if self._abandoned_store:
            former = open_store(self._abandoned_store)
            try:
                results = [*self._read(former, query), *results]
            except JournalError:
                return results  # the user was warned when the file was abandoned
            finally:
                former.close()
        return results

    def execute(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a long change of the journal.

        Raises:
            JournalError: the journal cannot be written.
        """
        try:
            return self._store.change(work).result(BEHIND_SECONDS if self._behind else ADMIN_TIMEOUT_SECONDS)
        except DISK_ERRORS as error:
            raise JournalError(
                f"The journal {settings.display_path(self.path)} cannot be changed ({_reason(error)})."
            ) from None

    def expire(self, days: float) -> None:
        """Delete turns that ended before so many days, without waiting; a later write does not overtake it."""

        def report(done: Future[None]) -> None:
            if error := done.exception():
                report_warning(f"Turns of more than {days:g} days were not deleted ({_reason(error)}).")

        self._store.change(lambda connection: retention.drop_older(connection, days)).add_done_callback(report)

    def catch_up(self, seconds: float) -> None:
        """Wait for pending writes to a locked or slow file."""
        if self._behind:
            with suppress(*DISK_ERRORS, JournalError):
                self._store.change(lambda _: None).result(seconds)

    def finish(self, *, seconds: float = EXIT_SECONDS) -> None:
        """Wait for pending writes at the end of the process, and report those that failed.

        If the file is locked, they are saved to a sidecar file first: the process may be killed before the wait ends.
        """
        until = monotonic() + seconds
        if not self._store.is_locked:
            self.catch_up(BUSY_SECONDS * 1.5)  # long enough to detect a lock
        left = self._write_sidecar() if self._behind and self._store.is_locked else None
        self.catch_up(max(0.0, until - monotonic()))
        if not self._behind:
            if left:
                left.unlink(missing_ok=True)
            return
        count = sum(map(len, self._behind.values()))
        outcome = f"they are saved in {left.name}, which the next process imports" if left else "they are lost"
        path = settings.display_path(self.path)
        print(f"nbtool: {count_of(count, 'record')} could not be written to {path}; {outcome}.", file=sys.stderr)  # noqa: T201 - warnings are not shown at the end of the process

    def _write_sidecar(self) -> Path | None:
        self._store.expect_sidecar()
        with self._lock:
            behind = list(self._behind.values())
        try:
            return write_sidecar(self.path, self.notebook, behind) if self.path else None
        except DISK_ERRORS:
            return None

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        self._store.close().result(self._wait_seconds)

    def _read(self, store: Store, query: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        try:
            return store.read(query, seconds=self._wait_seconds)
        except DISK_ERRORS as error:
            raise JournalError(
                f"The journal {settings.display_path(store.path)} cannot be read ({_reason(error)})."
            ) from None

    def _postpone(self, write: Future[None], rows: list[Row], *, is_quiet: bool = False) -> None:
        """Keep rows until they are on disk, and warn once that the file is locked or slow."""
        if self.path is None:
            return
        with self._lock:
            is_locked = self._store.is_locked
            is_first = not self._behind if is_locked else not (self._behind or self._has_warned_of_delay)
            is_first = is_first and not is_quiet and not write.done()
            self._has_warned_of_delay = self._has_warned_of_delay or (is_first and not is_locked)
            self._behind[write] = rows
            self._size_behind += sum(row.size for row in rows)
            size = self._size_behind
        write.add_done_callback(self._on_written)
        if size > self._max_behind:
            self._fall_back_to_memory(JournalError(f"more than {self._max_behind >> 20} MiB wait for it"))
        elif is_first:
            reason = "is locked by another process" if is_locked else "responds slowly"
            until = "it is unlocked" if is_locked else "it responds"
            report_warning(
                f"The journal {settings.display_path(self.path)} {reason}; history stays in memory until {until},"
                " and is written then."
            )

    def _on_written(self, write: Future[None]) -> None:
        """Drop rows that are on disk now; failed ones are moved to memory."""
        with self._lock:
            rows = self._behind.pop(write, None)
            self._size_behind -= sum(row.size for row in rows or ())
        error = write.exception()
        if rows is not None and error is not None:
            self._fall_back_to_memory(error)
            self._store.write(rows)

    def _report_change(self) -> None:
        """Warn of a file of an earlier build, and each time that the file was found deleted or replaced.

        Nothing of the former file can be read here.
        """
        if aside := self._store.take_aside():
            report_warning(
                f"The journal {settings.display_path(self.path)} was written by an earlier build, and is kept as"
                f" {aside.name}; a new one begins.",
                is_repeated=True,
            )
        if (change := self._store.take_change()) != "unchanged":
            goes_on = "a new file" if change == "deleted" else "the file that is there now"
            text = (
                f"The journal {settings.display_path(self.path)} was {change} while in use: the earlier history is no"
                f" longer in it; turns that have not ended, and later ones, are written to {goes_on}."
            )
            report_warning(text, is_repeated=True)

    def _fall_back_to_memory(self, error: BaseException) -> None:
        """Continue in memory, with a warning; the file is left unchanged, and closed when no write blocks any more."""
        if self.path is None:
            return
        report_warning(
            f"The journal {settings.display_path(self.path)} cannot be written ({_reason(error)});"
            " history stays in memory."
        )
        committing = self._store.abandon()
        self._closing.detach()
        self._store.close()  # not waited for: the disk may hang
        self._abandoned_store, self.path = self.path, None
        self._store = open_store(None, notebook=self.notebook)
        self._closing = weakref.finalize(self, self._store.close)
        self._closing.atexit = False
        with self._lock:
            behind, self._behind, self._size_behind = self._behind, {}, 0
        for write, rows in behind.items():
            if write not in committing or not self._is_written(write):
                self._store.write(rows)

    def _is_written(self, write: Future[None]) -> bool:
        """Whether a write that is being committed reaches the file in the usual time; else it may be listed twice."""
        try:
            return write.exception(self._wait_seconds) is None
        except TimeoutError:
            return False


@cache
def journal() -> Journal:
    """Return the journal of the process; with `NBTOOL_JOURNAL=off`, or by the administrator's policy, in memory."""
    notebook = settings.env("JPY_SESSION_NAME") or ""  # Jupyter Server's name of the notebook
    if is_in_memory():
        return Journal(None, notebook=notebook)
    try:
        book = Journal(settings.data_dir() / "journal.sqlite", notebook=notebook)
    except SettingsError as error:
        report_warning(f"{error} History stays in memory.")
        return Journal(None, notebook=notebook)
    if days := site_policy().journal_days:
        book.expire(days)
    return book


def finish_all() -> None:
    """Finish every journal of this process that is in use."""
    for book in tuple(_OPEN):
        book.finish()


atexit.register(finish_all)
call_in_children(journal.cache_clear)
call_in_children(_OPEN.clear)


def _call_when_written(
    write: Future[None], seconds: float, end: Callable[[BaseException | None], None]
) -> Callable[[], None]:
    """Call `end` on the running loop once a write ends or the seconds are over; return a function to prevent it."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    is_over = False

    def end_once(error: BaseException | None) -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            timer.cancel()
            end(error)

    def notify(done: Future[None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing waits
            loop.call_soon_threadsafe(end_once, done.exception(), context=context)

    def cancel() -> None:
        nonlocal is_over
        is_over = True
        timer.cancel()

    timer = loop.call_later(seconds, end_once, TimeoutError())
    write.add_done_callback(notify)
    return cancel


def _reason(error: BaseException) -> str:
    return "the disk timed out" if isinstance(error, TimeoutError) else str(error)
