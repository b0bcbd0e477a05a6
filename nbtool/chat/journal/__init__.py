"""The journal: every event is written to disk before anything acts on it.

One SQLite file under `NBTOOL_HOME` is shared by all kernels and written by one thread per process, so that a slow disk
never blocks the loop. A journal that cannot be written warns once and continues in memory; the chat is not affected.
Nothing that is read from it runs, and no approval is restored.

    schema.py           tables, their versions, opening of files       filesystem.py   network file systems
    database.py         one database and its thread                    blobs.py        deduplicated long texts and bytes
    process_journal.py  the journal: write, read, fallback             turn_writer.py  one turn's events, redacted
    queries.py          chats, turns, events                           search.py       full-text search
    retention.py        retention, vacuum, erase                       redaction.py    redaction by plugins
    replacement.py      files deleted or replaced while in use         sidecar.py      what a locked file did not get
    log_owner.py        whose log lies beside a file           kept_table.py   answers that are kept on Run All
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.chat.journal.process_journal import WAIT_SECONDS, Journal, journal
    from nbtool.chat.journal.redaction import redactor_for, with_secrets_hidden
    from nbtool.chat.journal.turn_writer import TurnWriter

_MODULES = {
    "WAIT_SECONDS": "process_journal",
    "Journal": "process_journal",
    "journal": "process_journal",
    "redactor_for": "redaction",
    "with_secrets_hidden": "redaction",
    "TurnWriter": "turn_writer",
}


def __getattr__(name: str) -> Any:
    """Import what is used first: `%load_ext` only looks an earlier chat up, and has to be fast."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["WAIT_SECONDS", "Journal", "TurnWriter", "journal", "redactor_for", "with_secrets_hidden"]
