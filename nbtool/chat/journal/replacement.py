"""Notice that the file of an open journal was deleted or replaced, which no write to it reports.

SQLite goes on writing to a deleted file, and nobody can read it there later. A new file takes its place; it begins with
the turns that have not ended. Earlier turns are not copied, because a person who deletes the file may want that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nbtool.chat.journal.blobs import restore
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.schema import DISK_ERRORS

Change = Literal["unchanged", "deleted", "replaced", "mixed"]
"""What happened to an open file; `mixed`: SQLite's log is not the log of the file that is at the path now."""

_FileId = tuple[int, int]

_UNFINISHED = """
    SELECT seq, at, turn_id, kind, body FROM events AS one WHERE chat_id = ? AND NOT EXISTS (
        SELECT 1 FROM events AS later WHERE later.turn_id = one.turn_id AND later.kind = 'turn_ended') ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """Which database and which log of it were at a path when it was looked at; None: there was none."""

    database: _FileId | None
    log: _FileId | None

    @classmethod
    def at(cls, path: Path) -> OpenFile:
        """Look at a path."""
        return cls(_file_id(path), _file_id(path.with_name(f"{path.name}-wal")))

    def change_to(self, present: OpenFile) -> Change:
        """Return what happened to this file, from what is at its path now."""
        is_same_log = self.log == present.log
        if present.database is None:
            return "deleted"
        if present.database == self.database:
            return "unchanged" if is_same_log or self.log is None else "mixed"
        return "mixed" if is_same_log and self.log else "replaced"


def unfinished_rows(connection: sqlite3.Connection, chat_ids: Iterable[str]) -> list[Row]:
    """Return the events of the turns that have not ended, from a file that may be deleted; none if it is unreadable."""
    from pydantic_core import to_json  # noqa: PLC0415 - only where a file was deleted

    rows: list[Row] = []
    try:
        for chat_id in chat_ids:
            for seq, at, turn_id, kind, body in connection.execute(_UNFINISHED, (chat_id,)).fetchall():
                text = to_json(restore(connection, seq, body)).decode()
                rows.append(Row(float(at), chat_id, str(turn_id), str(kind), text))
    except (*DISK_ERRORS, ValueError, TypeError):
        return []
    return rows


def _file_id(path: Path) -> _FileId | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
