"""Queries for the chats, turns and events of a journal. Rows that cannot be read are skipped."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from nbtool.chat.journal.blobs import restore
from nbtool.errors import JournalError, UnreadableEvent
from nbtool.event_json import load_event
from nbtool.events import Event, TurnEnded, TurnStarted
from nbtool.ids import short_id

MAX_COUNTED = 10_000
"""Events of one chat that are read to count its turns; a chat with more has at least as many turns as were found."""

MAX_LATEST = 50
"""The latest chats of a notebook among which the one of its cells is searched."""

MAX_TURNS = 100_000
"""Maximum turns of a table, the latest ones."""

MAX_EVENTS = 1_000_000
"""Maximum events of one chat that are read at once."""

MAX_SCANNED = 50_000
"""Events among which turns are searched at a time, forwards: backwards, a file is read without reading ahead."""

_FIRST = -(2**63)
"""The lowest number of an event in SQLite."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One chat of the journal; times are seconds since the epoch, `title` is the first prompt.

    `has_more` says that only a part of its turns was counted.
    """

    chat_id: str
    began: float
    ended: float
    turns: int
    notebook: str
    title: str
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of the journal, as plain values; unknown fields of an interrupted turn are empty or zero."""

    chat_id: str
    turn_id: str
    notebook: str
    started: float
    model: str
    status: str
    prompt: str
    text: str
    rounds: int = 0
    calls: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    error: str = ""


def events(connection: sqlite3.Connection, turn_id: str) -> list[dict[str, Any]]:
    """Return the events of a turn as plain data, in order."""
    rows = connection.execute("SELECT seq, body FROM events WHERE turn_id = ? ORDER BY seq", (turn_id,)).fetchall()
    parsed = (raw_event(connection, seq, body) for seq, body in rows)
    return [event for event in parsed if event is not None]


def chat_events(connection: sqlite3.Connection, chat_id: str) -> list[tuple[str, Event]]:
    """Return the events of a chat in order, each with the id of its turn.

    Raises:
        nbtool.errors.JournalError: there are more than `MAX_EVENTS`, as of a large map.
    """
    query = "SELECT count(*) FROM (SELECT seq FROM events WHERE chat_id = ? LIMIT ?)"
    if connection.execute(query, (chat_id, MAX_EVENTS + 1)).fetchone()[0] > MAX_EVENTS:
        raise JournalError(
            f"The chat {short_id(chat_id)} has more than {MAX_EVENTS:,} events, which is too many to open it.",
            fix="`%chat history search TEXT` finds its turns, and `%chat show TURN` shows one.",
        )
    query = "SELECT seq, turn_id, body FROM events WHERE chat_id = ? ORDER BY seq"
    return _parse_rows(connection, connection.execute(query, (chat_id,)).fetchall())


def turn_events(connection: sqlite3.Connection, chat_id: str, begin: str) -> list[tuple[str, Event]]:
    """Return the events of the turns of a chat whose ids have this prefix, and which turns of the chat were deleted."""
    query = """
        SELECT seq, turn_id, body FROM events
        WHERE chat_id = ? AND (turn_id >= ? AND turn_id < ? OR kind = 'tree_changed') ORDER BY seq
    """
    rows = connection.execute(query, (chat_id, begin, f"{begin}\U0010ffff")).fetchall()
    return _parse_rows(connection, rows)


def _parse_rows(connection: sqlite3.Connection, rows: list[tuple[Any, Any, Any]]) -> list[tuple[str, Event]]:
    parsed = ((str(turn_id), parse_event(connection, seq, body)) for seq, turn_id, body in rows)
    return [(turn_id, one) for turn_id, one in parsed if one is not None]


def chats_of_turn(connection: sqlite3.Connection, begin: str) -> list[str]:
    """Return the chats that have a turn whose id has this prefix; at most two."""
    query = "SELECT DISTINCT chat_id FROM events WHERE turn_id >= ? AND turn_id < ? AND chat_id != '' LIMIT 2"
    return [str(chat_id) for (chat_id,) in connection.execute(query, (begin, f"{begin}\U0010ffff")).fetchall()]


def find_chats(connection: sqlite3.Connection, begin: str) -> list[str]:
    """Return the chats whose ids have this prefix, at most two; or only the one whose id it is."""
    return _find_ids(connection, "chat_id", begin)


def find_turns(connection: sqlite3.Connection, begin: str) -> list[str]:
    """Return the turns whose ids have this prefix, at most two; or only the one whose id it is."""
    return _find_ids(connection, "turn_id", begin)


def _find_ids(connection: sqlite3.Connection, column: Literal["chat_id", "turn_id"], begin: str) -> list[str]:
    """Find ids by one seek in the index for each, however many events a chat has."""
    first = connection.execute(f"SELECT min({column}) FROM events WHERE {column} >= ?", (begin,)).fetchone()[0]
    if first == begin:
        return [begin]
    after = connection.execute(f"SELECT min({column}) FROM events WHERE {column} > ?", (first,)).fetchone()[0]
    return [str(one) for one in (first, after) if isinstance(one, str) and one.startswith(begin)]


def last_cell_chat(connection: sqlite3.Connection, notebook: str, before: float) -> list[tuple[str, float]]:
    """Return the chat of a notebook whose cells were used last before a time, and when that was; empty if it has none.

    Chats that no cell has asked, such as those of a tool, are skipped.
    """
    latest = "(SELECT max(seq) FROM events WHERE events.chat_id = chats.chat_id)"
    query = f"""
        SELECT chat_id, at FROM (SELECT {latest} AS last FROM chats WHERE notebook = ?) JOIN events ON seq = last
        WHERE at < ? ORDER BY seq DESC LIMIT ?
    """
    for chat_id, at in connection.execute(query, (notebook, before, MAX_LATEST)).fetchall():
        if _is_of_cells(connection, chat_id):
            return [(str(chat_id), as_number(at))]
    return []


def _is_of_cells(connection: sqlite3.Connection, chat_id: Any) -> bool:
    query = "SELECT seq FROM events WHERE chat_id = ? AND kind = 'turn_started' ORDER BY seq LIMIT 1"
    row = connection.execute(query, (chat_id,)).fetchone()
    body = connection.execute("SELECT body FROM events WHERE seq = ?", row).fetchone() if row else None
    first = raw_event(connection, row[0], body[0]) if body else None  # as data: the events' types are slow to load
    return bool(first and first.get("cell_id"))


def event_times(connection: sqlite3.Connection, turn_id: str) -> list[tuple[float, Event]]:
    """Return the events of a turn in order, each with its write time."""
    query = "SELECT seq, at, body FROM events WHERE turn_id = ? ORDER BY seq LIMIT ?"
    rows = connection.execute(query, (turn_id, MAX_EVENTS)).fetchall()
    parsed = ((as_number(at), parse_event(connection, seq, body)) for seq, at, body in rows)
    return [(at, one) for at, one in parsed if one is not None]


def starts(connection: sqlite3.Connection, turn_id: str) -> list[Event]:
    """Return the start of a turn, as the only event; none if it is not there."""
    query = "SELECT seq, body FROM events WHERE turn_id = ? AND kind = 'turn_started' ORDER BY seq LIMIT 1"
    parsed = (parse_event(connection, seq, body) for seq, body in connection.execute(query, (turn_id,)).fetchall())
    return [one for one in parsed if one is not None]


def count_chats(connection: sqlite3.Connection) -> list[int]:
    """Return the number of chats, as the only row."""
    return [int(connection.execute(f"{_CHAT_IDS} SELECT count(chat_id) FROM ids").fetchone()[0])]


def list_chats(connection: sqlite3.Connection, count: int, max_counted: int = MAX_COUNTED) -> list[ChatRow]:
    """Return the latest `count` chats, the latest first."""
    query = f"""
        {_CHAT_IDS} SELECT chat_id, coalesce(notebook, ''),
            (SELECT min(seq) FROM events WHERE events.chat_id = ids.chat_id),
            (SELECT max(seq) FROM events WHERE events.chat_id = ids.chat_id) AS latest
        FROM ids LEFT JOIN chats USING (chat_id) WHERE chat_id IS NOT NULL ORDER BY latest DESC LIMIT ?
    """
    return [_chat_row(connection, max_counted, *row) for row in connection.execute(query, (count,)).fetchall()]


def notebooks_of(connection: sqlite3.Connection, chat_ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return chats, by their ids, each with the path of its notebook; without those that no notebook had."""
    query = "SELECT notebook FROM chats WHERE chat_id = ? AND notebook != ''"
    found = ((chat_id, connection.execute(query, (chat_id,)).fetchone()) for chat_id in dict.fromkeys(chat_ids))
    return [(chat_id, str(row[0])) for chat_id, row in found if row]


_CHAT_IDS = """
    WITH RECURSIVE ids (chat_id) AS (
        SELECT min(chat_id) FROM events UNION ALL
        SELECT (SELECT min(chat_id) FROM events WHERE events.chat_id > ids.chat_id) FROM ids WHERE chat_id IS NOT NULL
    )
"""
"""The ids of all chats, by one seek in the index for each (https://sqlite.org/lang_with.html, "Recursive")."""


def _chat_row(
    connection: sqlite3.Connection, max_counted: int, chat_id: Any, notebook: Any, first: int, latest: int
) -> ChatRow:
    query = "SELECT turn_id, kind, seq FROM events WHERE chat_id = ? ORDER BY seq LIMIT ?"
    rows = connection.execute(query, (chat_id, max_counted + 1)).fetchall()
    turns = {turn_id for turn_id, _, _ in rows[:max_counted] if turn_id}
    began = next((seq for _, kind, seq in rows if kind == "turn_started"), None)
    times = (_time_of(connection, first), _time_of(connection, latest))
    return ChatRow(
        str(chat_id), *times, len(turns), str(notebook), _title(connection, began), has_more=len(rows) > max_counted
    )


def _time_of(connection: sqlite3.Connection, seq: int) -> float:
    return as_number(connection.execute("SELECT at FROM events WHERE seq = ?", (seq,)).fetchone()[0])


def list_turns(connection: sqlite3.Connection, max_turns: int = MAX_TURNS, scanned: int = MAX_SCANNED) -> list[TurnRow]:
    """Return the turns of all chats, in the order of their start; of more than `max_turns` the latest."""
    lines: list[TurnRow | None] = []
    last = connection.execute("SELECT max(seq) FROM events").fetchone()[0]
    while isinstance(last, int) and len(lines) < max_turns:
        first = max(last - scanned + 1, _FIRST)
        lines[:0] = _turns_between(connection, first, last)
        last = connection.execute("SELECT max(seq) FROM events WHERE seq < ?", (first,)).fetchone()[0]
    return [line for line in lines[-max_turns:] if line is not None]


def _turns_between(connection: sqlite3.Connection, first: int, last: int) -> Iterator[TurnRow | None]:
    """Yield the turns that started between two events, None for one that cannot be read."""
    query = """
        SELECT began.chat_id, coalesce(notebook, ''),
            began.seq, began.body, began.seq NOT IN (SELECT seq FROM places),
            ended.seq, ended.body, ended.seq NOT IN (SELECT seq FROM places)
        FROM events AS began LEFT JOIN chats USING (chat_id) LEFT JOIN events AS ended ON ended.seq = (
            SELECT max(seq) FROM events AS later WHERE later.turn_id = began.turn_id AND later.kind = 'turn_ended')
        WHERE began.kind = 'turn_started' AND began.seq BETWEEN ? AND ? ORDER BY began.seq
    """
    for chat_id, notebook, *columns in connection.execute(query, (first, last)):
        began, ended = (parse_event(connection, *row) for row in (columns[:3], columns[3:]))
        yield _turn_row(str(chat_id), str(notebook), began, ended)


def raw_event(connection: sqlite3.Connection, seq: int, body: Any) -> dict[str, Any] | None:
    """Return a row as plain data; None if it is invalid."""
    try:
        data = restore(connection, seq, body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def parse_event(connection: sqlite3.Connection, seq: int, body: Any, is_whole: Any = False) -> Event | None:
    """Return a row as an event; None if it is invalid. `is_whole` says that none of its contents is stored apart."""
    data = body if is_whole and isinstance(body, str | bytes) else raw_event(connection, seq, body)
    try:
        return load_event(data) if data else None
    except UnreadableEvent:
        return None


def _turn_row(chat_id: str, notebook: str, began: Event | None, ended: Event | None) -> TurnRow | None:
    if not isinstance(began, TurnStarted):
        return None
    line = (chat_id, began.turn_id, notebook, began.started, began.model)
    if not isinstance(ended, TurnEnded):
        return TurnRow(*line, "unfinished", began.prompt.text, "")
    return TurnRow(
        *line, ended.status, began.prompt.text, ended.text, ended.rounds, ended.calls, ended.seconds,
        ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.cost, ended.error,
    )  # fmt: skip


def _title(connection: sqlite3.Connection, seq: Any) -> str:
    first = _event_at(connection, seq)
    return first.prompt.text if isinstance(first, TurnStarted) else ""


def _event_at(connection: sqlite3.Connection, seq: Any) -> Event | None:
    if not isinstance(seq, int):
        return None
    row = connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
    return parse_event(connection, seq, row[0]) if row else None


def as_number(value: Any) -> float:
    """Return a time as a number, 0 if it is not one."""
    return float(value) if isinstance(value, int | float) else 0.0
