"""The table of turns: where a turn begins and ends in the events, whose key it has, and whether a call of it started.

It is written in the transaction of these events. What a turn is, its text and its figures, is in its events alone.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from nbtool.chat.journal.row import Row

TURN_TABLE = """
    CREATE TABLE turns (
        turn_id TEXT PRIMARY KEY,
        chat_id TEXT NOT NULL,
        key TEXT NOT NULL,
        at REAL NOT NULL,
        began INTEGER NOT NULL,
        ended INTEGER,
        acted INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX turns_by_start ON turns (began);
    CREATE INDEX turns_of_chat ON turns (chat_id, began);
    CREATE INDEX turns_of_key ON turns (key, chat_id, began);
"""
"""`key` is the turn's cell, or the prompt of a map; `began` and `ended` are its first and last event, `at` its start;
`acted` is 1 once a call of it started."""


def note_event(connection: sqlite3.Connection, row: Row, seq: int) -> None:
    """Update the table by an event that was written under a number."""
    match row.kind:
        case "turn_started":
            connection.execute(
                "INSERT OR IGNORE INTO turns (turn_id, chat_id, key, at, began) VALUES (?, ?, ?, ?, ?)",
                (row.turn_id, row.chat_id, _key_of(row.content), row.at, seq),
            )
        case "call_started":
            connection.execute("UPDATE turns SET acted = 1 WHERE turn_id = ? AND acted = 0", (row.turn_id,))
        case "turn_ended":
            connection.execute("UPDATE turns SET ended = ? WHERE turn_id = ?", (seq, row.turn_id))


def turns_of_key(connection: sqlite3.Connection, chat_id: str, key: str, since: float = 0.0) -> list[str]:
    """Return the turns of a chat with a key that began since a time, in the order in which they began."""
    query = "SELECT turn_id FROM turns WHERE chat_id = ? AND key = ? AND at >= ? ORDER BY began"
    return [str(turn_id) for (turn_id,) in connection.execute(query, (chat_id, key, since))]


def has_acted_elsewhere(connection: sqlite3.Connection, chat_id: str, key: str) -> bool:
    """Whether a call of a turn with a key started in another chat than this one."""
    query = "SELECT 1 FROM turns WHERE key = ? AND chat_id != ? AND acted LIMIT 1"
    return connection.execute(query, (key, chat_id)).fetchone() is not None


def _key_of(content: str | dict[str, Any]) -> str:
    from pydantic_core import from_json  # noqa: PLC0415 - only where history is written

    plain = from_json(content) if isinstance(content, str) else content
    return str(plain.get("cell_id") or "") if isinstance(plain, dict) else ""
