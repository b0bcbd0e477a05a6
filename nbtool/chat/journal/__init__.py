"""Every event on disk, before it is acted upon.

One SQLite file under `NBTOOL_HOME`, shared by all kernels and written through one thread of each, so that a slow disk
never holds up the loop. A journal that cannot be written says so once and goes on in memory: the chat is never the
worse for it. Nothing that is read here runs, and no approval comes back.

    layout.py    tables, their versions, how a file is opened        disks.py     what kind of disk it is
    store.py     one database and its thread                         contents.py  long texts and bytes, each once
    book.py      the journal: record, read, give up                  scribe.py    one turn's pen, and what it leaves out
    reading.py   chats, turns, events                                search.py    words in all of them
    keeping.py   retention, vacuum, erase                        private.py   what plugins keep out of it
"""

from nbtool.chat.journal.book import WAIT_SECONDS, Journal, journal
from nbtool.chat.journal.private import hiding
from nbtool.chat.journal.scribe import Scribe

__all__ = ["WAIT_SECONDS", "Journal", "Scribe", "hiding", "journal"]
