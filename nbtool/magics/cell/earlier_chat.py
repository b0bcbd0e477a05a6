"""The chat that a notebook had in an earlier kernel: the first cell of a new one says how to continue it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from nbtool.chat.conversation.tree import Node
from nbtool.chat.journal import journal, queries
from nbtool.chat.turn import Turn
from nbtool.errors import JournalError
from nbtool.ids import is_id, short_id
from nbtool.magics.notebook.earlier_chat_lookup import announced, format_age
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.text import count_of

NEW_CONVERSATION = "This cell begins a new conversation; `{command}` continues the {former}."
NEW_CHAT = "This cell begins a new chat; `{command}` continues the {former}."


def former_turns_note(turns: Sequence[Node[Turn]], cells: CellSource) -> str:
    """Return the command that continues the turns in whose place a cell begins a conversation; empty without turns."""
    last = turns[-1].turn if turns else None
    if last is None:
        return ""
    command = cells.line(f"branch {short_id(last.turn_id)}")
    return NEW_CONVERSATION.format(command=command, former=f"former one ({count_of(len(turns), 'turn')})")


def earlier_chat_note(magic: str = "chat") -> str:
    """Return the command that continues the chat of cells that this notebook had last; empty if none is known.

    It names no file and no prompt: the note is saved with the notebook.
    """
    book = journal()
    if not book.notebook:
        return ""
    try:
        found = book.read(lambda connection: queries.last_cell_chat(connection, book.notebook, book.opened))
    except JournalError:
        return ""  # the turn itself warns of it
    if not found or not is_id(found[-1][0]):
        return ""
    chat_id, ended = found[-1]
    command = CellSource(magic=magic).line(f"open {short_id(chat_id)}")
    if chat_id in announced:
        return NEW_CHAT.format(command=command, former="earlier one")
    age = format_age(time.time() - ended)
    return (
        f"This cell begins a new chat. The earlier one of this notebook, last used {age} ago, "
        f"continues with `{command}`."
    )
