"""The earlier chat of a notebook, looked up while the extension loads: without the journal's threads, and in no time.

The first cell asks the journal itself (`magics.cell.earlier_chat`), so that a file which is locked, slow or damaged
is only passed over here.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

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


def describe_earlier_chat(magic: str) -> str:
    """Return two lines with the command that continues the notebook's earlier chat; empty if none is found at once.

    They name no file and no prompt: they are saved with the notebook. A page may break a longer line in the command.
    """
    chat_id, ended = _last_chat() or ("", 0.0)
    short = short_id(chat_id)
    if short == chat_id:  # there is none, or a file has an id that no chat gets, with any characters
        return ""
    announced.add(chat_id)
    return (
        f"This notebook has an earlier chat, last used {format_age(time.time() - ended)} ago.\n"
        f"`%{magic} open {short}` continues it; a `%%{magic}` cell begins a new one."
    )


def format_age(seconds: float) -> str:
    """Format an age in its largest whole unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            return count_of(int(seconds // length), unit)
    return "less than a minute"


def last_chat(
    notebook: str, path: Path, *, seconds: float = LOOKUP_SECONDS, steps: int = STEPS
) -> tuple[str, float] | None:
    """Return the chat that cells of a notebook used last, and when; None if a journal has none, or not at once."""
    # Imported here, so that only notebooks with a journal pay for it.
    from nbtool.chat.journal import queries, schema  # noqa: PLC0415

    until = monotonic() + seconds
    try:
        with closing(schema.open_to_read(path, busy_seconds=0)) as connection:
            connection.set_progress_handler(lambda: monotonic() > until, steps)
            found = queries.last_cell_chat(connection, notebook, time.time())
    except (*schema.DISK_ERRORS, JournalError):
        return None
    return found[-1] if found else None


def _last_chat() -> tuple[str, float] | None:
    """Return the chat that this notebook had in an earlier kernel, and when cells used it last."""
    notebook = settings.env("JPY_SESSION_NAME")  # Jupyter Server's name of the notebook
    if not notebook or "nbtool.chat.journal.process_journal" in sys.modules:  # loaded again: that is no new kernel
        return None
    from nbtool.chat.journal.storage import is_in_memory  # noqa: PLC0415 - only where a notebook has a name

    try:
        path = settings.data_dir() / "journal.sqlite"
    except SettingsError:
        return None
    return last_chat(notebook, path) if path.is_file() and not is_in_memory() else None
