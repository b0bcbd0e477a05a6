"""The table of kept answers: turns in the form of a recording, each with the turn of the journal that it is of.

An answer is found by the folder of its notebook and its prompt. It is there as long as its turn is, and its table once
an answer was kept.
"""

from __future__ import annotations

import sqlite3
import time

TABLE = """
    CREATE TABLE IF NOT EXISTS kept_answers (
        folder TEXT, key TEXT, prompt TEXT NOT NULL, turn_id TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (folder, key)
    ) WITHOUT ROWID
"""

MAX_ANSWERS = 1_000
"""Maximum answers of a folder; beyond it the oldest are forgotten, and the model is asked again."""


def keep_answer(  # noqa: PLR0913 - the columns
    connection: sqlite3.Connection,
    folder: str,
    key: str,
    prompt: str,
    turn_id: str,
    body: str,
    *,
    max_answers: int = MAX_ANSWERS,
) -> int:
    """Keep an answer in place of a former one with its key; return how many old ones of the folder are forgotten."""
    oldest = """
        DELETE FROM kept_answers WHERE folder = ? AND key IN (
            SELECT key FROM kept_answers WHERE folder = ? ORDER BY at DESC, key LIMIT -1 OFFSET ?)
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(TABLE)
        row = (folder, key, prompt, turn_id, time.time(), body)
        connection.execute("INSERT OR REPLACE INTO kept_answers VALUES (?, ?, ?, ?, ?, ?)", row)
        forgotten = connection.execute(oldest, (folder, folder, max_answers)).rowcount
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return forgotten


def kept_answers(connection: sqlite3.Connection, folder: str, prompt: str) -> list[str]:
    """Return the answers to a prompt that are kept of a folder, the latest first."""
    if not _is_there(connection):
        return []
    query = "SELECT body FROM kept_answers WHERE folder = ? AND prompt = ? ORDER BY at DESC"
    return [str(body) for (body,) in connection.execute(query, (folder, prompt))]


def drop_answers(connection: sqlite3.Connection) -> None:
    """Delete the answers whose turns are no longer in the journal."""
    if _is_there(connection):
        connection.execute("DELETE FROM kept_answers WHERE turn_id NOT IN (SELECT turn_id FROM turns)")


def _is_there(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept_answers'"
    return connection.execute(query).fetchone() is not None
