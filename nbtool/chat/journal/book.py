"""The journal of a process: it records, reads, and gives up on a disk that does not answer."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nbtool import settings
from nbtool.chat.journal import reading
from nbtool.chat.journal.layout import TROUBLE
from nbtool.chat.journal.private import without_private
from nbtool.chat.journal.store import Row, Store, forget_in_children
from nbtool.errors import JournalError, SettingsError
from nbtool.event_json import dump_event
from nbtool.events import Event

T = TypeVar("T")

WAIT_SECONDS = 1.8
"""The longest that a turn waits for the disk; after that it goes on without."""

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

    async def record(
        self, chat_id: str, turn_id: str, events: Iterable[Event], *, hide: Callable[[str], str] | None = None
    ) -> None:
        """Write events; returns when they are on disk, or when the journal has given up on it.

        `hide` takes private values out of every text before it is written.
        """
        now = time.time()
        rows = [Row(now, chat_id, turn_id, event.kind, _written(event, hide)) for event in events]
        store = self._store
        try:
            # Not `asyncio.wait_for`: until Python 3.12 it swallows a cancellation that comes as the write ends
            # (https://github.com/python/cpython/issues/86296), and the turn would go on.
            async with asyncio.timeout(WAIT_SECONDS):
                await asyncio.shield(asyncio.wrap_future(store.write(rows)))
        except (*TROUBLE, JournalError) as error:
            if store is self._store:
                self._give_up(error)
            self._store.write(rows)

    def events(self, turn_id: str) -> list[dict[str, Any]]:
        """Give the events of a turn as plain data, in order; see `event_json` for events.

        Raises:
            JournalError: the journal cannot be read.
        """
        return self.read(lambda connection: reading.events(connection, turn_id))

    def read(self, ask: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        """Ask the journal something: what is in the file, and what had to stay in memory.

        Raises:
            JournalError: the journal cannot be read.
        """
        found = self._store.read(ask, seconds=PATIENCE) if self.path is None else self._read(self._store, ask)
        if self._given_up:
            try:
                found = [*self._read(Store(self._given_up), ask), *found]
            except JournalError:
                return found  # it was said already that the file cannot be used
        return found

    def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something to the journal that takes its time.

        Raises:
            JournalError: the journal cannot be written.
        """
        try:
            return self._store.change(work).result(PATIENCE)
        except TROUBLE as error:
            raise JournalError(f"The journal {self.path} cannot be changed ({_reason(error)}).") from None

    def close(self) -> None:
        """Close the file; later records open it again."""
        self._store.close().result(WAIT_SECONDS)

    def _read(self, store: Store, ask: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
        try:
            return store.read(ask, seconds=WAIT_SECONDS)
        except TROUBLE as error:
            raise JournalError(f"The journal {store.path} cannot be read ({_reason(error)}).") from None

    def _give_up(self, error: Exception) -> None:
        """Go on in memory, and say so; the file is left as it is, and its thread to itself."""
        if self.path is None:
            return
        warnings.warn(
            f"The journal {self.path} cannot be written ({_reason(error)}); history stays in memory.", stacklevel=2
        )
        self._given_up, self.path = self.path, None
        self._store = Store(None, notebook=self.notebook)


@cache
def journal() -> Journal:
    """Give the process's journal; `NBTOOL_JOURNAL=off` keeps it in memory."""
    notebook = settings.from_environment("JPY_SESSION_NAME") or ""  # what Jupyter Server calls the notebook
    if settings.from_environment("NBTOOL_JOURNAL") == "off":
        return Journal(None, notebook=notebook)
    try:
        return Journal(settings.home() / "journal.sqlite", notebook=notebook)
    except SettingsError as error:
        warnings.warn(f"{error} History stays in memory.", stacklevel=2)
        return Journal(None, notebook=notebook)


forget_in_children(journal.cache_clear)


def _written(event: Event, hide: Callable[[str], str] | None) -> str:
    return dump_event(event) if hide is None else without_private(dump_event(event), hide)


def _reason(error: Exception) -> str:
    return "the disk took too long" if isinstance(error, TimeoutError) else str(error)
