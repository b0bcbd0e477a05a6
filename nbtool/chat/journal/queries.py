"""What a journal holds: its chats, their turns, and their events. Whatever cannot be read is left out."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from nbtool.chat.journal.blobs import whole
from nbtool.errors import UnreadableEvent
from nbtool.event_json import load_event
from nbtool.events import Event, TurnEnded, TurnStarted

MAX_CHATS = 1_000
"""Chats that a list holds, the latest first."""

MAX_TURNS = 100_000
"""Turns that a table holds, the latest ones."""

MAX_EVENTS = 1_000_000
"""Events of one chat that are read."""


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One chat of the journal; times are seconds since the epoch, `title` is what was said first."""

    chat_id: str
    began: float
    ended: float
    turns: int
    notebook: str
    title: str


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of the journal, in a row of plain values; what is not known of one that broke off is empty or zero."""

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
    """Give the events of a turn as plain data, in order."""
    rows = connection.execute("SELECT seq, body FROM events WHERE turn_id = ? ORDER BY seq", (turn_id,)).fetchall()
    found = (plain(connection, seq, body) for seq, body in rows)
    return [event for event in found if event is not None]


def chat_events(connection: sqlite3.Connection, chat_id: str) -> list[tuple[str, Event]]:
    """Give the events of a chat in order, each with the id of its turn."""
    query = "SELECT seq, turn_id, body FROM events WHERE chat_id = ? ORDER BY seq LIMIT ?"
    rows = connection.execute(query, (chat_id, MAX_EVENTS)).fetchall()
    found = ((str(turn_id), event(connection, seq, body)) for seq, turn_id, body in rows)
    return [(turn_id, one) for turn_id, one in found if one is not None]


def chats_of_turn(connection: sqlite3.Connection, begin: str) -> list[str]:
    """Return the chats that have a turn whose id begins so."""
    query = "SELECT DISTINCT chat_id FROM events WHERE turn_id >= ? AND turn_id < ? AND chat_id != '' LIMIT 2"
    return [str(chat_id) for (chat_id,) in connection.execute(query, (begin, f"{begin}\U0010ffff")).fetchall()]


def moments(connection: sqlite3.Connection, turn_id: str) -> list[tuple[float, Event]]:
    """Give the events of a turn in order, each with the time at which it was written."""
    query = "SELECT seq, at, body FROM events WHERE turn_id = ? ORDER BY seq LIMIT ?"
    rows = connection.execute(query, (turn_id, MAX_EVENTS)).fetchall()
    found = ((number(at), event(connection, seq, body)) for seq, at, body in rows)
    return [(at, one) for at, one in found if one is not None]


def chats(connection: sqlite3.Connection) -> list[ChatLine]:
    """Give the chats, the latest first."""
    query = """
        SELECT chat_id, min(at), max(at), count(DISTINCT turn_id) - max(turn_id = ''), coalesce(notebook, ''),
            min(CASE kind WHEN 'turn_started' THEN seq END)
        FROM events LEFT JOIN chats USING (chat_id) GROUP BY chat_id ORDER BY max(at) DESC LIMIT ?
    """
    return [
        ChatLine(str(chat_id), number(began), number(ended), turns, str(notebook), _title(connection, first))
        for chat_id, began, ended, turns, notebook, first in connection.execute(query, (MAX_CHATS,)).fetchall()
    ]


def turns(connection: sqlite3.Connection) -> list[TurnLine]:
    """Give the turns of every chat, in the order in which they began."""
    query = """
        SELECT events.seq, body, chat_id, coalesce(notebook, ''), (
            SELECT max(seq) FROM events AS later WHERE later.turn_id = events.turn_id AND later.kind = 'turn_ended')
        FROM events LEFT JOIN chats USING (chat_id) WHERE kind = 'turn_started' ORDER BY events.seq DESC LIMIT ?
    """
    rows = connection.execute(query, (MAX_TURNS,)).fetchall()
    found = (
        _turn_line(str(chat_id), str(notebook), event(connection, seq, body), _at(connection, last))
        for seq, body, chat_id, notebook, last in reversed(rows)
    )
    return [line for line in found if line is not None]


def plain(connection: sqlite3.Connection, seq: int, body: Any) -> dict[str, Any] | None:
    """Give a row as plain data; None where it holds none."""
    try:
        found = whole(connection, seq, body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def event(connection: sqlite3.Connection, seq: int, body: Any) -> Event | None:
    """Give a row as an event; None where it is none."""
    found = plain(connection, seq, body)
    try:
        return load_event(found) if found else None
    except UnreadableEvent:
        return None


def _turn_line(chat_id: str, notebook: str, began: Event | None, ended: Event | None) -> TurnLine | None:
    if not isinstance(began, TurnStarted):
        return None
    line = (chat_id, began.turn_id, notebook, began.started, began.model)
    if not isinstance(ended, TurnEnded):
        return TurnLine(*line, "unfinished", began.prompt.text, "")
    return TurnLine(
        *line, ended.status, began.prompt.text, ended.text, ended.rounds, ended.calls, ended.seconds,
        ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.cost, ended.error,
    )  # fmt: skip


def _title(connection: sqlite3.Connection, seq: Any) -> str:
    first = _at(connection, seq)
    return first.prompt.text if isinstance(first, TurnStarted) else ""


def _at(connection: sqlite3.Connection, seq: Any) -> Event | None:
    if not isinstance(seq, int):
        return None
    row = connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
    return event(connection, seq, row[0]) if row else None


def number(value: Any) -> float:
    """Give a time as a number, 0 where it is none."""
    return float(value) if isinstance(value, int | float) else 0.0
