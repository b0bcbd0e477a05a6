"""Find the turns of the prompts of a map in the journal, of a streamed one a chunk at a time in constant memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from nbtool.chat.batch.earlier_maps.answer_cache import CELL_ID_PREFIX, BatchKey, prompt_hash
from nbtool.chat.batch.earlier_maps.earlier_turns import (
    EarlierTurns,
    find_start,
    find_versions,
    has_answer_or_call,
    read_turn,
)
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.write_failure import explained_failure
from nbtool.chat.journal import journal
from nbtool.chat.journal.turn_table import turns_of_key
from nbtool.chat.turn import running_turn_ids
from nbtool.events import Event

TABLE = "CREATE TABLE seen (hash TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID"

CACHE_KIB = 16_384
"""Memory that SQLite uses for the table; the rest is in a temporary file, which it deletes."""

FILE = "A temporary file of the map"

Versions = Sequence[Sequence[Event]]


class TurnIndex:
    """The keys of the prompts of a map, and where the journal has their turns; a temporary file counts the prompts.

    Only turns that began after `since` count, in seconds since the epoch.
    """

    def __init__(self, key: BatchKey, since: float = 0.0) -> None:
        self._key, self._since = key, since
        self._lock = threading.Lock()
        self._table = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        for statement in (f"PRAGMA cache_size = -{CACHE_KIB}", "PRAGMA journal_mode = OFF", TABLE):
            self._table.execute(statement)

    def close(self) -> None:
        """Delete the temporary file."""
        with self._lock:
            self._table.close()

    def add_keys(self, items: Iterable[PromptItem]) -> Iterator[PromptItem]:
        """Yield prompts with their keys: a repeated prompt has one per occurrence among all prompts of the map."""
        for item in items:
            hash_ = prompt_hash(item.prompt)
            with explained_failure(FILE):
                number = self._count(hash_)
            yield replace(item, key=f"{CELL_ID_PREFIX}{hash_}:{number}")

    def find_earlier(self, keys: Sequence[str], free_tools: frozenset[str]) -> EarlierTurns:
        """Return what the journal has of these prompts: the latest turn of each counts in which anything came or ran.

        Raises:
            nbtool.errors.JournalError: the journal cannot be read.
        """
        waiting = self._turn_ids(keys)
        found: dict[str, Versions] = {}
        while latest := {key: turn_ids.pop() for key, turn_ids in waiting.items() if turn_ids}:
            for key, versions in read_versions(latest).items():
                found[key] = versions
                if _counts(versions):
                    del waiting[key]
        return self._key.sort_turns(found, free_tools)

    def _count(self, hash_: str) -> int:
        with self._lock:
            row = self._table.execute("SELECT count FROM seen WHERE hash = ?", (hash_,)).fetchone()
            count = row[0] + 1 if row else 1
            self._table.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (hash_, count))
        return count

    def _turn_ids(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the turns of each key that do not run here, in the order in which they began."""
        running, chat_id, since = running_turn_ids(), self._key.chat_id, self._since

        def read(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            return [(key, turn_id) for key in keys for turn_id in turns_of_key(connection, chat_id, key, since)]

        turns: dict[str, list[str]] = {}
        for key, turn_id in dict.fromkeys(journal().read(read)):  # of a file that was left first, then in memory
            if turn_id not in running:
                turns.setdefault(key, []).append(turn_id)
        return turns


def read_versions(turn_ids: Mapping[str, str]) -> dict[str, Versions]:
    """Return the events of turns and of those that they continued, by key; none where the journal lacks one.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """

    def read_all(connection: sqlite3.Connection) -> list[tuple[str, Versions]]:
        return [(key, find_versions(item, partial(read_turn, connection))) for key, item in turn_ids.items()]

    found: dict[str, Versions] = dict.fromkeys(turn_ids, ())
    for key, versions in journal().read(read_all):  # twice where the journal fell back to memory
        found[key] = versions or found[key]
    return found


def _counts(versions: Versions) -> bool:
    """Whether a turn is what a map goes on from, and not an earlier one of the same prompt."""
    if not versions:
        return True  # what it did is not known
    began = find_start(versions[0])
    return bool(began and began.told_from) or has_answer_or_call(versions[0])
