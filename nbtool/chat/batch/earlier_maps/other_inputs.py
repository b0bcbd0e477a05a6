"""Calls of earlier maps for the same prompts with other inputs: they are not reused, and the person is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from nbtool.chat.journal import journal
from nbtool.chat.journal.turn_table import acted_keys
from nbtool.errors import JournalError

MAX_MAPS = 20
"""Maximum number of earlier maps that are looked at, the latest first."""

MAX_ACTED = 10_000
"""Maximum number of turns with calls of each of them that are looked at, the first ones first."""

CALLS_RUN_AGAIN = (
    "Calls that an earlier map made for these prompts are run again: its model, system text, tools, options or objects "
    "were others, or cannot be compared. A tool whose code, description or global variables changed is another one."
)

MAPS = """
    SELECT chat_id FROM chats WHERE chat_id >= 'map_' AND chat_id < 'map`' AND chat_id != ?
    ORDER BY began DESC LIMIT ?
"""


def has_calls_of_other_inputs(chat_id: str, keys: Collection[str]) -> bool:
    """Whether calls started in earlier maps, other than of this chat, in turns of these prompts, by their keys."""

    def find(connection: sqlite3.Connection) -> list[str]:
        maps = connection.execute(MAPS, (chat_id, MAX_MAPS)).fetchall()
        return [other for (other,) in maps if any(key in keys for key in acted_keys(connection, other, MAX_ACTED))]

    try:
        return bool(journal().read(find))
    except JournalError:
        return False  # which is reported where the answers are looked up
