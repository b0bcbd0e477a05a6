"""Full-text search in prompts, replies, calls and results, over all chats and notebooks.

The index is updated by searches, not when events are written: a search first adds new events, in small transactions.
The index stores no text.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nbtool.chat.journal.queries import as_number, raw_event
from nbtool.errors import JournalError

MAX_HITS = 100
"""Maximum hits of a search, the latest first."""

MAX_QUERY = 1_000
"""Maximum characters of a query."""

MAX_WORDS = 1_000_000
"""Maximum characters of one event that are indexed."""

BATCH = 200
"""Events that are indexed in one transaction, so that other kernels are blocked only briefly."""

CLEARED = 1_000
"""Records of the index, of up to 4 KB, that are deleted in one transaction."""

_CLEAR = "DELETE FROM former_words_data WHERE id IN (SELECT id FROM former_words_data WHERE id > 10 LIMIT ?)"
"""The table in which FTS5 keeps the index: https://www.sqlite.org/fts5.html#fts5_data_structures. Records 1 and 10, its
averages and its structure, are needed to drop it."""

SNIPPET = 160
"""Characters of the excerpt around a hit."""

KINDS = ("turn_started", "reply_finished", "call_ready", "call_finished")
HIT_KINDS = {"turn_started": "prompt", "reply_finished": "reply", "call_ready": "call", "call_finished": "result"}

# Chinese, Japanese, Korean, Thai and similar scripts have no spaces: each character is indexed as a word.
_SPACELESS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)


@dataclass(frozen=True, slots=True)
class JournalHit:
    """One search hit; `what` is prompt, reply, call or result."""

    chat_id: str
    turn_id: str
    at: float
    what: str
    snippet: str


def update_index(connection: sqlite3.Connection) -> None:
    """Index the events written since the last search.

    Raises:
        JournalError: this Python's SQLite has no FTS5.
    """
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='', tokenize='unicode61')"
        )
    except sqlite3.OperationalError as error:
        if "no such module" in str(error):
            raise JournalError("The SQLite of this Python has no full-text search (FTS5).") from None
        raise
    connection.execute("CREATE TABLE IF NOT EXISTS searchable (id INTEGER PRIMARY KEY CHECK (id = 0), upto INTEGER)")
    connection.execute("INSERT OR IGNORE INTO searchable VALUES (0, 0)")
    while _index_batch(connection):
        pass


def clear_index(connection: sqlite3.Connection) -> Iterator[None]:
    """Drop the index in steps, each a short transaction; the next search rebuilds it."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits, or rolls back after an exception
            connection.execute("DROP TABLE IF EXISTS former_words")
            connection.execute("ALTER TABLE words RENAME TO former_words")
            connection.execute("DROP TABLE IF EXISTS searchable")
        yield
    with suppress(sqlite3.OperationalError):  # there is none, or SQLite is in defensive mode: it is dropped in one step
        while connection.execute(_CLEAR, (CLEARED,)).rowcount:
            yield
    connection.execute("DROP TABLE IF EXISTS former_words")


def search(connection: sqlite3.Connection, text: str) -> list[JournalHit]:
    """Return the events that contain all words, the latest first; the last word is a prefix.

    Raises:
        JournalError: the query has no words.
    """
    words = re.findall(r"\w+", text[:MAX_QUERY])
    if not words:
        raise JournalError("The query contains no word.", fix="Use letters or digits.")
    query = f"""
        SELECT seq, at, chat_id, turn_id, kind, body FROM words JOIN events ON events.seq = words.rowid
        WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT {MAX_HITS}
    """
    first_word = re.compile("|".join(map(re.escape, dict.fromkeys(words))), re.IGNORECASE)
    match_query = " ".join(f'"{_tokenized(word)}"' for word in words) + "*"
    hits = []
    for seq, at, chat_id, turn_id, kind, body in connection.execute(query, (match_query,)).fetchall():
        snippet = _snippet(_words(raw_event(connection, seq, body)), first_word)
        hits.append(JournalHit(str(chat_id), str(turn_id), as_number(at), HIT_KINDS.get(kind, str(kind)), snippet))
    return hits


def _index_batch(connection: sqlite3.Connection) -> bool:
    connection.execute("BEGIN IMMEDIATE")
    try:
        (since,) = connection.execute("SELECT upto FROM searchable").fetchone()
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        query = f"SELECT seq, body FROM events WHERE seq > ? AND kind IN ({kinds}) ORDER BY seq LIMIT {BATCH}"
        rows = connection.execute(query, (since,)).fetchall()
        for seq, body in rows:
            words = _tokenized(_words(raw_event(connection, seq, body)))
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (seq, words))
        (last,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        last_seq = rows[-1][0] if len(rows) == BATCH else last or 0
        connection.execute("UPDATE searchable SET upto = ?", (last_seq,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return len(rows) == BATCH


def _words(event: dict[str, Any] | None) -> str:
    """Return the searchable text of an event: the prompt, the reply, a call's name and arguments, or its result."""
    match event:
        case {"kind": "turn_started", "prompt": {"parts": list(parts)}}:
            pieces = _prose(parts)
        case {"kind": "reply_finished", "message": {"parts": list(parts)}}:
            pieces = _prose(parts)
        case {"kind": "call_ready", "name": str(name), "arguments": str(arguments)}:
            pieces = [name, arguments]
        case {"kind": "call_finished", "name": str(name), "shown": str(shown), "reason": str(reason)}:
            pieces = [name, shown, reason if reason not in shown else ""]
        case _:
            pieces = []
    return "\n".join(filter(None, pieces))[:MAX_WORDS]


def _tokenized(text: str) -> str:
    return _SPACELESS.sub(r" \1 ", text)


def _prose(parts: list[Any]) -> list[str]:
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("kind") in ("text", "refusal"))
    return [text for text in texts if isinstance(text, str)]


def _snippet(text: str, first_word: re.Pattern[str]) -> str:
    """Return an excerpt around the first hit."""
    match = first_word.search(text)
    start = max(0, match.start() - SNIPPET // 4) if match else 0
    piece = text[start : start + SNIPPET]
    return f"{'…' if start else ''}{piece}{'…' if start + SNIPPET < len(text) else ''}"
