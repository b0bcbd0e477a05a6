"""On a worker: what its journal has of the turns of a map, for a process at home that does not know them."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
from dataclasses import dataclass, field
from itertools import islice

from nbtool.chat.batch.earlier_maps.earlier_turns import read_turn
from nbtool.chat.journal import journal
from nbtool.chat.journal.storage import is_in_memory
from nbtool.chat.journal.turn_table import turns_since
from nbtool.chat.turn import running_turn_ids
from nbtool.event_json import dump_event
from nbtool.settings import data_dir

MAX_TURNS = 20_000
"""Maximum turns of one map of which a journal tells, the latest ones."""


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Where the journal of a process is, and which turns run in this process."""

    place: str
    running: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """A turn in a journal: its prompt by its key, when it started, and whether it ended or a call of it started."""

    turn_id: str
    key: str
    started: float
    has_acted: bool = field(default=False)


async def find_place() -> JournalPlace:
    """Return where the journal of this worker is."""
    return await asyncio.to_thread(local_place)


async def list_turns(chat_id: str, since: float) -> list[ListedTurn]:
    """Return the turns of a chat in the journal of this worker that began since a time, the latest first."""
    return await asyncio.to_thread(local_turns, chat_id, since)


async def read_turns(turn_ids: list[str]) -> list[list[str]]:
    """Return the events of turns in the journal of this worker, as JSON."""
    return await asyncio.to_thread(_read_turns, turn_ids)


def local_place() -> JournalPlace:
    """Return where the journal of this process is."""
    place = f"memory of {os.getpid()}" if is_in_memory() else str(data_dir())
    return JournalPlace(f"{platform.node()}:{place}", frozenset(running_turn_ids()))


def local_turns(chat_id: str, since: float = 0.0) -> list[ListedTurn]:
    """Return the turns of a chat in the journal of this process, as `list_turns`.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """

    def read(connection: sqlite3.Connection) -> list[ListedTurn]:
        listed = islice(turns_since(connection, chat_id, since), MAX_TURNS + 1)
        return [ListedTurn(one.turn_id, one.key, one.at, one.has_ended or one.has_called) for one in listed]

    return journal().read(read)


def _read_turns(turn_ids: list[str]) -> list[list[str]]:
    def read(connection: sqlite3.Connection) -> list[list[str]]:
        return [[dump_event(event) for event in read_turn(connection, turn_id)] for turn_id in turn_ids]

    return journal().read(read)
