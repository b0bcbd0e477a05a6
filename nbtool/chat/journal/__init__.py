"""Every event on disk, before it is acted upon.

One SQLite file under `NBTOOL_HOME`, shared by all kernels and written through one thread of each, so that a slow disk
never holds up the loop. A journal that cannot be written says so once and goes on in memory: the chat is never the
worse for it. Nothing that is read here runs, and no approval comes back.

    schema.py           tables, their versions, how a file is opened   filesystem.py   what kind of disk it is
    store.py            one database and its thread                    blobs.py        long texts and bytes, each once
    process_journal.py  the journal: record, read, give up             turn_writer.py  one turn's events, redacted
    queries.py          chats, turns, events                           search.py       words in all of them
    retention.py        retention, vacuum, erase                       redaction.py    what plugins keep out of it
"""

from nbtool.chat.journal.process_journal import WAIT_SECONDS, Journal, journal
from nbtool.chat.journal.redaction import redactor_for
from nbtool.chat.journal.turn_writer import TurnWriter

__all__ = ["WAIT_SECONDS", "Journal", "TurnWriter", "journal", "redactor_for"]
