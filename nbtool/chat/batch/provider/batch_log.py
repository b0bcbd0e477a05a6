"""Which batches are handed over, in the journal: noted before anything is sent, so that nothing is paid twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nbtool.chat.journal import batch_table, journal
from nbtool.chat.journal.batch_table import NotedBatch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchLog:
    """The batches at one place: the address, dialect and model of an endpoint. All raise a `JournalError`."""

    place: str

    async def note(self, tag: str, line_ids: Sequence[str]) -> None:
        """Note a batch that is about to be handed over."""
        await _execute(lambda connection: batch_table.note_batch(connection, tag, self.place, line_ids))

    async def note_ids(self, tag: str, *, file_id: str = "", batch_id: str = "") -> None:
        """Note what a batch is called at its provider."""
        await _execute(lambda connection: batch_table.note_ids(connection, tag, file_id=file_id, batch_id=batch_id))

    async def find(self, line_ids: Sequence[str]) -> list[NotedBatch]:
        """Return the batches that have some of these lines."""
        return await _execute(lambda connection: batch_table.find_batches(connection, self.place, line_ids))

    async def batch_ids(self) -> list[str]:
        """Return the ids of all batches that are noted, of any place."""
        return await _execute(batch_table.batch_ids)

    async def settle(self, tag: str, line_ids: Sequence[str]) -> int:
        """Forget lines whose answers are known; return how many the batch has left."""
        return await _execute(lambda connection: batch_table.settle_lines(connection, tag, line_ids))

    async def forget(self, tag: str) -> None:
        """Forget a batch."""
        await _execute(lambda connection: batch_table.forget_batch(connection, tag))


async def _execute(work: Callable[[sqlite3.Connection], T]) -> T:
    return await asyncio.to_thread(journal().execute, work)
