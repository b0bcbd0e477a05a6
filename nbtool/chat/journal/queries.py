"""Queries for the chats, turns and events of a journal. Rows that cannot be read are skipped."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from nbtool.chat.journal.blobs import restore
from nbtool.errors import JournalError, UnreadableEvent
from nbtool.event_json import load_event
from nbtool.events import Event, ReplyFinished, TurnEnded, TurnStarted
from nbtool.ids import short_id

MAX_LATEST = 50
"""The latest chats of a notebook among which the one of its cells is searched."""

MAX_TURNS = 100_000
"""Maximum turns of a table, the latest ones."""

MAX_EVENTS = 1_000_000
"""Maximum events of one chat that are read at once."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One chat of the journal; times are seconds since the epoch, `title` is the first prompt."""

    chat_id: str
    began: float
    ended: float
    turns: int
    notebook: str
    title: str


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
    return [(turn_id, item) for turn_id, item in parsed if item is not None]


def chats_of_turn(connection: sqlite3.Connection, begin: str) -> list[str]:
    """Return the chats that have a turn whose id has this prefix; at most two."""
    query = "SELECT DISTINCT chat_id FROM turns WHERE turn_id >= ? AND turn_id < ? AND chat_id != '' LIMIT 2"
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
    return [str(item) for item in (first, after) if isinstance(item, str) and item.startswith(begin)]


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


def count_turns(connection: sqlite3.Connection, chat_id: str) -> int:
    """Return how many turns a chat has, all versions counted."""
    row = connection.execute("SELECT count(*) FROM turns WHERE chat_id = ?", (chat_id,)).fetchone()
    return int(row[0])


def _is_of_cells(connection: sqlite3.Connection, chat_id: Any) -> bool:
    query = "SELECT key FROM turns WHERE chat_id = ? ORDER BY began LIMIT 1"
    row = connection.execute(query, (chat_id,)).fetchone()
    return bool(row and row[0])


def event_times(connection: sqlite3.Connection, turn_id: str) -> list[tuple[float, Event]]:
    """Return the events of a turn in order, each with its write time."""
    query = "SELECT seq, at, body FROM events WHERE turn_id = ? ORDER BY seq LIMIT ?"
    rows = connection.execute(query, (turn_id, MAX_EVENTS)).fetchall()
    parsed = ((as_number(at), parse_event(connection, seq, body)) for seq, at, body in rows)
    return [(at, item) for at, item in parsed if item is not None]


def count_chats(connection: sqlite3.Connection) -> list[int]:
    """Return the number of chats, as the only row."""
    return [int(connection.execute("SELECT count(*) FROM chats").fetchone()[0])]


def list_chats(connection: sqlite3.Connection, count: int) -> list[ChatRow]:
    """Return the latest `count` chats, the latest first."""
    query = """
        SELECT chat_id, notebook, (SELECT min(seq) FROM events WHERE events.chat_id = chats.chat_id),
            (SELECT max(seq) FROM events WHERE events.chat_id = chats.chat_id) AS latest
        FROM chats WHERE latest IS NOT NULL ORDER BY latest DESC LIMIT ?
    """
    return [_chat_row(connection, *row) for row in connection.execute(query, (count,)).fetchall()]


def notebooks_of(connection: sqlite3.Connection, chat_ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return chats, by their ids, each with the path of its notebook; without those that no notebook had."""
    query = "SELECT notebook FROM chats WHERE chat_id = ? AND notebook != ''"
    found = ((chat_id, connection.execute(query, (chat_id,)).fetchone()) for chat_id in dict.fromkeys(chat_ids))
    return [(chat_id, str(row[0])) for chat_id, row in found if row]


def _chat_row(connection: sqlite3.Connection, chat_id: Any, notebook: Any, first: int, latest: int) -> ChatRow:
    query = "SELECT count(*), min(began) FROM turns WHERE chat_id = ?"
    turns, began = connection.execute(query, (chat_id,)).fetchone()
    times = (_time_of(connection, first), _time_of(connection, latest))
    return ChatRow(str(chat_id), *times, turns, str(notebook), _title(connection, began))


def _time_of(connection: sqlite3.Connection, seq: int) -> float:
    return as_number(connection.execute("SELECT at FROM events WHERE seq = ?", (seq,)).fetchone()[0])


def list_turns(connection: sqlite3.Connection, max_turns: int = MAX_TURNS) -> list[TurnRow]:
    """Return the turns of all chats, in the order of their start; of more than `max_turns` the latest."""
    query = """
        SELECT latest.chat_id, coalesce(notebook, ''),
            began.seq, began.body, began.seq NOT IN (SELECT seq FROM places),
            ended.seq, ended.body, ended.seq NOT IN (SELECT seq FROM places)
        FROM (SELECT * FROM turns ORDER BY began DESC LIMIT ?) AS latest
            JOIN events AS began ON began.seq = latest.began LEFT JOIN events AS ended ON ended.seq = latest.ended
            LEFT JOIN chats ON chats.chat_id = latest.chat_id
        ORDER BY began.seq
    """
    lines: list[TurnRow] = []
    for chat_id, notebook, *columns in connection.execute(query, (max_turns,)):
        began, ended = (parse_event(connection, *row) for row in (columns[:3], columns[3:]))
        if isinstance(ended, TurnEnded) and not ended.text and isinstance(began, TurnStarted):
            ended = replace(ended, text=_last_answer(connection, began.turn_id))
        if line := _turn_row(str(chat_id), str(notebook), began, ended):
            lines.append(line)
    return lines


def _last_answer(connection: sqlite3.Connection, turn_id: str) -> str:
    """Return the text of the last reply of a turn that has one."""
    query = "SELECT seq, body FROM events WHERE turn_id = ? AND kind = 'reply_finished' ORDER BY seq DESC"
    replies = (parse_event(connection, *row) for row in connection.execute(query, (turn_id,)))
    messages = (reply.message for reply in replies if isinstance(reply, ReplyFinished))
    return next((message.answer for message in messages if message.text.strip()), "")


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
