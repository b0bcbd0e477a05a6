"""Calls of earlier maps for the same prompts with other inputs: they are not reused, and the person is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from nbtool.chat.journal import journal
from nbtool.chat.journal.turn_table import has_acted_elsewhere
from nbtool.errors import JournalError

CALLS_RUN_AGAIN = (
    "Calls that an earlier map made for these prompts are run again: its model, system text, tools, options or objects "
    "were others, or cannot be compared. A tool whose code, description or global variables changed is another one."
)


def has_calls_of_other_inputs(chat_id: str, keys: Collection[str]) -> bool:
    """Whether calls started in earlier maps, other than of this chat, in turns of these prompts, by their keys."""

    def find(connection: sqlite3.Connection) -> list[bool]:
        return [any(has_acted_elsewhere(connection, chat_id, key) for key in keys)]

    try:
        found: list[bool] = journal().read(find)
        return any(found)
    except JournalError:
        return False  # which is reported where the answers are looked up
