"""The journal of a process: it records, reads, and gives up on a disk that does not answer."""

from __future__ import annotations

import asyncio
import atexit
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nbtool import settings
from nbtool.chat.journal import queries
from nbtool.chat.journal.redaction import without_private
from nbtool.chat.journal.schema import TROUBLE
from nbtool.chat.journal.store import Row, Store, forget_in_children
from nbtool.errors import JournalError, SettingsError
from nbtool.event_json import dump_event
from nbtool.events import Event

T = TypeVar("T")

WAIT_SECONDS = 1.8
"""The longest that a turn waits for the disk; after that it goes on without."""

MAX_BEHIND = 64 * 1024 * 1024
"""Characters of events that are kept in memory for a locked file; beyond that it is given up."""

EXIT_SECONDS = 5.0
"""How long the end of the process waits for a locked file, where something still has to be written."""

PATIENCE = 600.0
"""Seconds that a person who asked for it waits for the journal to be searched or cleaned."""


class Journal:
    """An append-only list of events, on disk or, without a path, in memory.

    `notebook` is where its chats are held: the path or the name of the notebook, as far as it is known.
    """

    def __init__(self, path: Path | None, *, notebook: str = "") -> None:
        self.path = path
        self.notebook = notebook[:1_000]
        self._store = Store(path, notebook=self.notebook)
        self._given_up: Path | None = None
        self._behind: dict[Future[None], list[Row]] = {}
        self._size_behind = 0
        self._lock = threading.Lock()

    async def record(
        self, chat_id: str, turn_id: str, events: Iterable[Event], *, hide: Callable[[str], str] | None = None
    ) -> None:
        """Write events; returns when they are on disk, or when a turn waits no longer for it.

        A file that another process has locked is written when it is free, and turns wait for it no more until then; one
        that is broken, or on a disk that does not answer, is given up.

        `hide` takes private values out of every text before it is written.
        """
        now = time.time()
        rows = [Row(now, chat_id, turn_id, event.kind, _written(event, hide)) for event in events]
        store = self._store
        write = store.write(rows)
        try:
            if self._behind and store.is_locked:
                self._put_off(write, rows)
            else:
                await _in_time(write)
        except (*TROUBLE, JournalError) as error:
            if isinstance(error, TimeoutError) and store.is_locked:
                self._put_off(write, rows)
                return
            if store is self._store:
                self._give_up(error)
            self._store.write(rows)

    def events(self, turn_id: str) -> list[dict[str, Any]]:
        """Give the events of a turn as plain data, in order; see `event_json` for events.

        Raises:
            JournalError: the journal cannot be read.
        """
        return self.read(lambda connection: queries.events(connection, turn_id))

    def read(self, ask: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        """Ask the journal something: what is in the file, and what had to stay in memory.

        Raises:
            JournalError: the journal cannot be read.
        """
        found = self._store.read(ask, seconds=PATIENCE) if self.path is None else self._read(self._store, ask)
        if self._given_up:
            former = Store(self._given_up)
            try:
                found = [*self._read(former, ask), *found]
            except JournalError:
                return found  # it was said already that the file cannot be used
            finally:
                former.close()
        return found

    def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something to the journal that takes its time.

        Raises:
            JournalError: the journal cannot be written.
        """
        try:
            return self._store.change(work).result(PATIENCE)
        except TROUBLE as error:
            raise JournalError(
                f"The journal {settings.shown_path(self.path)} cannot be changed ({_reason(error)})."
            ) from None

    def catch_up(self, seconds: float) -> None:
        """Wait for what has still to be written, where the file was locked."""
        if self._behind:
            with suppress(*TROUBLE, JournalError):
                self._store.change(lambda _: None).result(seconds)

    def close(self) -> None:
        """Close the file; later records open it again."""
        self._store.close().result(WAIT_SECONDS)

    def _read(self, store: Store, ask: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        try:
            return store.read(ask, seconds=WAIT_SECONDS)
        except TROUBLE as error:
            raise JournalError(
                f"The journal {settings.shown_path(store.path)} cannot be read ({_reason(error)})."
            ) from None

    def _put_off(self, write: Future[None], rows: list[Row]) -> None:
        """Keep rows until they are on the disk, and say once that the file is locked."""
        with self._lock:
            is_first = not self._behind
            self._behind[write] = rows
            self._size_behind += sum(len(row.body) for row in rows)
            size = self._size_behind
        write.add_done_callback(self._caught_up)
        if size > MAX_BEHIND:
            self._give_up(JournalError(f"more than {MAX_BEHIND >> 20} MiB wait for it"))
        elif is_first and self.path:
            warnings.warn(
                f"The journal {settings.shown_path(self.path)} is locked by another process; history stays in memory"
                " until it is free,"
                " and is written then.",
                stacklevel=2,
            )

    def _caught_up(self, write: Future[None]) -> None:
        """Forget rows that are on the disk now; those that cannot come there go to memory."""
        with self._lock:
            rows = self._behind.pop(write, None)
            self._size_behind -= sum(len(row.body) for row in rows or ())
        error = write.exception()
        if rows is not None and error is not None:
            self._give_up(error)
            self._store.write(rows)

    def _give_up(self, error: BaseException) -> None:
        """Go on in memory, and say so; the file is left as it is, and closed when nothing hangs there any more."""
        if self.path is None:
            return
        warnings.warn(
            f"The journal {settings.shown_path(self.path)} cannot be written ({_reason(error)});"
            " history stays in memory.",
            stacklevel=2,
        )
        self._store.abandon()
        self._store.close()  # not waited for: a disk that hangs hangs alone
        self._given_up, self.path = self.path, None
        self._store = Store(None, notebook=self.notebook)
        with self._lock:
            behind, self._behind, self._size_behind = self._behind, {}, 0
        for rows in behind.values():
            self._store.write(rows)


@cache
def journal() -> Journal:
    """Give the process's journal; `NBTOOL_JOURNAL=off` keeps it in memory."""
    notebook = settings.from_environment("JPY_SESSION_NAME") or ""  # what Jupyter Server calls the notebook
    if settings.from_environment("NBTOOL_JOURNAL") == "off":
        return Journal(None, notebook=notebook)
    try:
        book = Journal(settings.home() / "journal.sqlite", notebook=notebook)
    except SettingsError as error:
        warnings.warn(f"{error} History stays in memory.", stacklevel=2)
        return Journal(None, notebook=notebook)
    atexit.register(book.catch_up, EXIT_SECONDS)
    return book


forget_in_children(journal.cache_clear)


async def _in_time(write: Future[None]) -> None:
    """Wait for the disk as long as a turn does; a write goes on when nobody waits for it any more.

    It waits on one future of its own: each wrapper around another one costs a pass of the loop, several times a round.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not waiting.done():
            waiting.set_exception(error) if error else waiting.set_result(None)

    def tell(done: Future[None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, done.exception())

    timer = loop.call_later(WAIT_SECONDS, settle, TimeoutError())
    write.add_done_callback(tell)
    try:
        await waiting
    finally:
        timer.cancel()


def _written(event: Event, hide: Callable[[str], str] | None) -> str:
    return dump_event(event) if hide is None else without_private(dump_event(event), hide)


def _reason(error: BaseException) -> str:
    return "the disk took too long" if isinstance(error, TimeoutError) else str(error)
