"""Calls of earlier maps for the same prompts with other inputs: they are not reused, and the person is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from nbtool.chat.batch.earlier_maps.earlier_turns import find_start
from nbtool.chat.journal import journal, queries
from nbtool.errors import JournalError

MAX_MAPS = 20
"""Maximum number of earlier maps that are looked at, the latest first."""

MAX_EVENTS = 500
"""Maximum number of events of each of them that are looked at, the first ones first: a script repeats its prompts."""

CALLS_RUN_AGAIN = (
    "Calls that an earlier map made for these prompts are run again: its model, system text, tools, options or objects "
    "were others, or cannot be compared. A tool whose code, description or global variables changed is another one."
)

MAPS = """
    SELECT chat_id FROM chats WHERE chat_id >= 'map_' AND chat_id < 'map`' AND chat_id != ?
    ORDER BY began DESC LIMIT ?
"""
EVENTS = "SELECT seq, turn_id, kind, body FROM events WHERE chat_id = ? ORDER BY seq LIMIT ?"


def has_calls_of_other_inputs(chat_id: str, keys: Collection[str]) -> bool:
    """Whether calls started in earlier maps, other than of this chat, in turns of these prompts, by their keys."""

    def find(connection: sqlite3.Connection) -> list[str]:
        maps = connection.execute(MAPS, (chat_id, MAX_MAPS)).fetchall()
        return [other for (other,) in maps if _has_calls(connection, other, keys)]

    try:
        return bool(journal().read(find))
    except JournalError:
        return False  # which is reported where the answers are looked up


def _has_calls(connection: sqlite3.Connection, chat_id: str, keys: Collection[str]) -> bool:
    same_prompts: set[str] = set()
    for seq, turn_id, kind, body in connection.execute(EVENTS, (chat_id, MAX_EVENTS)):
        if kind == "turn_started":
            event = queries.parse_event(connection, seq, body)
            began = find_start([event] if event else ())
            if began and began.cell_id in keys:
                same_prompts.add(turn_id)
        elif kind == "call_started" and turn_id in same_prompts:
            return True
    return False
