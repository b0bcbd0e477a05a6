"""Which events are on the disk itself when a turn goes on, and which may still be in the system's memory.

Either way a commit survives a process that is killed. Only one that waits for the disk survives a power cut, and in the
write-ahead log it takes all earlier commits with it (https://www.sqlite.org/pragma.html#pragma_synchronous). So the
start of a call waits for it, and with it all that led to the call, and so does whatever ends or changes a turn; what
lies between, a prompt that is sent or a reply that came, does not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from nbtool.chat.journal.row import Row

UNSYNCED_KINDS = frozenset(
    {
        "turn_started", "request_started", "text_delta", "thinking_delta", "reply_finished", "message_appended",
        "notice", "error_raised", "call_ready", "call_asked", "call_decided", "call_progress", "call_finished",
    }
)  # fmt: skip
"""Events after which nothing happens that cannot be repeated; any other kind waits for the disk."""


class JournalConnection(sqlite3.Connection):
    """A connection whose commits wait for the disk, those of events that need not wait excepted."""

    has_log = False  # without a write-ahead log a commit that does not wait could damage the file
    _synchronous = "FULL"

    def prepare_commit(self, rows: Iterable[Row]) -> None:
        """Let the next transaction, which writes these rows, wait for the disk if one of them needs that."""
        can_skip = self.has_log and all(row.kind in UNSYNCED_KINDS or _is_announced(row) for row in rows)
        self._set_synchronous("NORMAL" if can_skip else "FULL")

    def require_sync(self) -> None:
        """Let the next transactions wait for the disk."""
        self._set_synchronous("FULL")

    def _set_synchronous(self, value: str) -> None:
        if value != self._synchronous:
            self.execute(f"PRAGMA synchronous = {value}")
            self._synchronous = value


def _is_announced(row: Row) -> bool:
    """Whether a row is the start of a call that is on the disk already, with that of a call before it."""
    return isinstance(row.content, dict) and bool(row.content.get("announced"))
