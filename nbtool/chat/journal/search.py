"""Full-text search in prompts, replies, calls and results, over all chats and notebooks.

The index is updated by searches, not when events are written: a search first adds new events, in small transactions.
The index stores no text. It has parts, each a table for the events that followed those of the part before, of so many
characters; `searchable` lists them. For a prefix FTS5 merges in memory all places of all words that begin with it, so
that what a search needs grows with a part, and not with the journal; and the latest part alone often has enough hits.
An index that is not as this version creates it is dropped and made again.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from nbtool.chat.journal.queries import as_number, raw_event
from nbtool.errors import JournalError

T = TypeVar("T")

MAX_HITS = 100
"""Maximum hits of a search, the latest first."""

MAX_QUERY = 1_000
"""Maximum characters of a query."""

MAX_WORDS = 1_000_000
"""Maximum characters of one event that are indexed."""

BATCH = 200
"""Events that are indexed in one transaction, so that other kernels are blocked only briefly."""

PART = 16_000_000
"""Characters that are indexed in one part, before the next one is begun. A prefix with which every word begins takes up
to 14 MB in such a part, a usual one 1 MB; 1,000,000 turns have some 80 parts, and each costs a search for a rare word
0.2 ms."""

CLEARED = 1_000
"""Records of the index, of up to 4 KB, that are deleted in one transaction."""

_LIST = "CREATE TABLE searchable (part INTEGER PRIMARY KEY, upto INTEGER NOT NULL, characters INTEGER NOT NULL)"
_WORDS = "CREATE VIRTUAL TABLE words_{} USING fts5(text, content='', tokenize='unicode61')"
"""What creates the list and a part, as SQLite keeps it (https://www.sqlite.org/schematab.html)."""

_INDEX_TABLE = re.compile("words_[0-9]+", re.IGNORECASE)
"""The names of parts."""

_CLEAR = 'DELETE FROM "{0}_data" WHERE id IN (SELECT id FROM "{0}_data" WHERE id > 10 LIMIT ?)'
"""The table in which FTS5 keeps a part: https://www.sqlite.org/fts5.html#fts5_data_structures. Records 1 and 10, its
averages and its structure, are needed to drop it."""

_MATCH = """
    SELECT seq, at, chat_id, turn_id, kind, body FROM {0} JOIN events ON events.seq = {0}.rowid
    WHERE {0} MATCH ? ORDER BY {0}.rowid DESC LIMIT ?
"""

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


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the index: its number, from 1, the event up to which all are indexed, and its characters."""

    number: int
    upto: int
    characters: int


def update_index(connection: sqlite3.Connection, part_size: int = PART) -> None:
    """Index the events written since the last search; a part is full with `part_size` characters.

    Raises:
        JournalError: this Python's SQLite has no FTS5.
    """
    try:
        while _in_transaction(connection, lambda: _advance(connection, part_size)):
            pass
    except sqlite3.OperationalError as error:
        if "no such module: fts5" in str(error):
            raise JournalError("The SQLite of this Python has no full-text search (FTS5).") from None
        raise


def clear_index(connection: sqlite3.Connection) -> Iterator[None]:
    """Drop the index in steps, each a short transaction; the next search rebuilds it."""
    _in_transaction(connection, lambda: connection.execute("DROP TABLE IF EXISTS searchable"))
    yield
    while _in_transaction(connection, lambda: _drop_unlisted(connection, _parts(connection))):
        yield


def search(connection: sqlite3.Connection, text: str) -> list[JournalHit]:
    """Return the events that contain all words, the latest first; the last word is a prefix.

    Raises:
        JournalError: the query has no words, or the index is not complete.
    """
    words = re.findall(r"\w+", text[:MAX_QUERY])
    if not words:
        raise JournalError("The query contains no word.", fix="Use letters or digits.")
    first_word = re.compile("|".join(map(re.escape, dict.fromkeys(words))), re.IGNORECASE)
    match_query = " ".join(f'"{_tokenized(word)}"' for word in words) + "*"
    hits: list[JournalHit] = []
    connection.execute("BEGIN")  # other processes may change the index between two parts
    with connection:
        parts = _parts(connection)
        if not parts:
            raise JournalError("The index of the journal was changed meanwhile.", fix="Search again: it is rebuilt.")
        for part in reversed(parts):
            rows = connection.execute(_MATCH.format(f"words_{part.number}"), (match_query, MAX_HITS - len(hits)))
            for seq, at, chat_id, turn_id, kind, body in rows:  # one at a time: an event may be large
                snippet = _snippet(_words(raw_event(connection, seq, body)), first_word)
                what = HIT_KINDS.get(kind, str(kind))
                hits.append(JournalHit(str(chat_id), str(turn_id), as_number(at), what, snippet))
            if len(hits) == MAX_HITS:
                break
    return hits


def _parts(connection: sqlite3.Connection) -> list[_Part]:
    """Return the parts in order; none if there is no index, or one that is not as this version creates it."""
    tables = _tables(connection)
    if tables.get("searchable") != _LIST:
        return []
    rows = connection.execute("SELECT part, upto, characters FROM searchable ORDER BY part").fetchall()
    (is_ahead,) = connection.execute(
        "SELECT max(upto) > coalesce((SELECT max(seq) FROM events), 0) FROM searchable"
    ).fetchone()  # of events that were deleted since, whose numbers are given to others
    if (
        is_ahead
        or not all(isinstance(value, int) for row in rows for value in row)
        or [row[0] for row in rows] != list(range(1, len(rows) + 1))
        or any(tables.get(f"words_{row[0]}") != _WORDS.format(row[0]) for row in rows)
    ):
        return []
    return [_Part(*row) for row in rows]


def _tables(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what creates each table, by its name."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND typeof(name) = 'text'"
    return dict(connection.execute(query).fetchall())


def _advance(connection: sqlite3.Connection, part_size: int) -> bool:
    """Drop or index something; return whether more is to be done."""
    parts = _parts(connection)
    if not parts:
        connection.execute("DROP TABLE IF EXISTS searchable")
    if _drop_unlisted(connection, parts):
        return True
    if not parts:
        connection.execute(_LIST)
    last = parts[-1] if parts else _add_part(connection, _Part(1, 0, 0))
    if last.characters >= part_size:
        last = _add_part(connection, _Part(last.number + 1, last.upto, 0))
    return _index_batch(connection, last, part_size)


def _drop_unlisted(connection: sqlite3.Connection, parts: list[_Part]) -> bool:
    """Drop a table that is no part of the index, or some of its records; return whether there was one."""
    listed = {f"words_{part.number}" for part in parts}
    found = next((name for name in _tables(connection) if _INDEX_TABLE.fullmatch(name) and name not in listed), None)
    if found is None:
        return False
    with suppress(sqlite3.OperationalError):  # it has none, or SQLite is in defensive mode: it is dropped in one step
        if connection.execute(_CLEAR.format(found), (CLEARED,)).rowcount:
            return True
    connection.execute(f'DROP TABLE "{found}"')
    return True


def _add_part(connection: sqlite3.Connection, part: _Part) -> _Part:
    connection.execute(_WORDS.format(part.number))
    connection.execute("INSERT INTO searchable VALUES (?, ?, ?)", (part.number, part.upto, part.characters))
    return part


def _index_batch(connection: sqlite3.Connection, part: _Part, part_size: int) -> bool:
    """Index events until the part is full; return whether there may be more."""
    kinds = ", ".join(f"'{kind}'" for kind in KINDS)
    query = f"SELECT seq, body FROM events WHERE seq > ? AND kind IN ({kinds}) ORDER BY seq LIMIT {BATCH}"
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
    characters, has_more = part.characters, False
    with closing(connection.execute(query, (part.upto,))) as rows:
        for number, (seq, body) in enumerate(rows, 1):
            words = _tokenized(_words(raw_event(connection, seq, body)))
            connection.execute(f"INSERT INTO words_{part.number} (rowid, text) VALUES (?, ?)", (seq, words))
            characters += len(words)
            if has_more := number == BATCH or characters >= part_size:
                last = seq
                break
    values = (last, characters, part.number)
    connection.execute("UPDATE searchable SET upto = ?, characters = ? WHERE part = ?", values)
    return has_more


def _in_transaction(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back after an exception
        return work()


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
