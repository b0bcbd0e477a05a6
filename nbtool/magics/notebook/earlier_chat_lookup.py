"""The earlier chat of a notebook, looked up while the extension loads: without the journal's threads, and in no time.

The first cell asks the journal itself (`magics.cell.earlier_chat`), so that a file which is locked, slow or damaged
is only passed over here.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtool import settings
from nbtool.clock import monotonic
from nbtool.errors import JournalError, SettingsError
from nbtool.ids import short_id
from nbtool.text import count_of

LOOKUP_SECONDS = 0.02
"""Longest time that the query may take; loading the extension has to be fast."""

STEPS = 2_000
"""Steps of SQLite between two looks at the clock."""

announced: set[str] = set()
"""The ids of the chats that were named when the extension was loaded."""

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


CONTINUE_MIME = "application/vnd.nbtool.continue+json"
"""The media type of an earlier chat that a page can continue."""


@dataclass(frozen=True, slots=True)
class EarlierChat:
    """The chat that cells of a notebook used last in an earlier kernel, when they did, and how many turns it has."""

    chat_id: str
    ended: float
    turns: int

    def describe(self, magic: str) -> str:
        """Return two lines with the command that continues it.

        They name no file and no prompt: they are saved with the notebook. A page may break a longer line.
        """
        return (
            f"This notebook has an earlier chat, last used {format_age(time.time() - self.ended)} ago.\n"
            f"`%{magic} open {short_id(self.chat_id)}` continues it; a `%%{magic}` cell begins a new one."
        )

    def bar_data(self) -> dict[str, Any]:
        """Return what a page needs to offer it."""
        return {"v": 1, "chat_id": self.chat_id, "ended": self.ended, "turns": self.turns}


def find_earlier_chat() -> EarlierChat | None:
    """Return the earlier chat of this notebook; None if none is found at once."""
    found = _last_chat()
    if found is None or short_id(found.chat_id) == found.chat_id:
        return None  # there is none, or a file has an id that no chat gets, with any characters
    announced.add(found.chat_id)
    return found


def format_age(seconds: float) -> str:
    """Format an age in its largest whole unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            return count_of(int(seconds // length), unit)
    return "less than a minute"


def last_chat(notebook: str, path: Path, *, seconds: float = LOOKUP_SECONDS, steps: int = STEPS) -> EarlierChat | None:
    """Return the chat that cells of a notebook used last; None if a journal has none, or not at once."""
    # Imported here, so that only notebooks with a journal pay for it.
    from nbtool.chat.journal import queries, schema  # noqa: PLC0415

    until = monotonic() + seconds
    try:
        with closing(schema.open_to_read(path, busy_seconds=0)) as connection:
            connection.set_progress_handler(lambda: monotonic() > until, steps)
            found = queries.last_cell_chat(connection, notebook, time.time())
            return EarlierChat(*found[-1], queries.count_turns(connection, found[-1][0])) if found else None
    except (*schema.DISK_ERRORS, JournalError):
        return None


def _last_chat() -> EarlierChat | None:
    """Return the chat that this notebook had in an earlier kernel."""
    notebook = settings.env("JPY_SESSION_NAME")  # Jupyter Server's name of the notebook
    if not notebook or "nbtool.chat.journal.process_journal" in sys.modules:  # loaded again: that is no new kernel
        return None
    from nbtool.chat.journal.storage import is_in_memory  # noqa: PLC0415 - only where a notebook has a name

    try:
        path = settings.data_dir() / "journal.sqlite"
    except SettingsError:
        return None
    return last_chat(notebook, path) if path.is_file() and not is_in_memory() else None
