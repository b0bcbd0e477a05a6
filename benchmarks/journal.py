"""The cost of the journal: disk waits per turn, time per event, and whether they are stable as it grows.

    python benchmarks/journal.py [FOLDER]

A turn makes three calls in a round and answers; the model is scripted. The folder determines which disk is measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

TURNS = (100, 400, 1_600)


def main(folder: str | None) -> None:
    """Print a row for each size of the journal."""
    home = Path(tempfile.mkdtemp(dir=folder))
    os.environ["NBTOOL_HOME"] = str(home)
    from nbtool import Chat, tool  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.chat.journal import (  # noqa: PLC0415 - the same
        journal,
        queries,  # noqa: PLC0415 - the same
        search,
    )
    from nbtool.testing import ScriptedWire, call  # noqa: PLC0415 - the same

    @tool(run="auto")
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}: " + "lorem ipsum " * 100

    done = 0
    print("turns  ms a turn  events a turn  KB a turn  search s  list s")  # noqa: T201 - what the command is for
    for total in TURNS:
        began = time.perf_counter()
        for turn in range(done, total):
            replies = [[call("fetch", page=turn + n) for n in range(3)], "Done. " * 50]
            Chat(wire=ScriptedWire(replies), tools=[fetch]).send(f"Question {turn}")
        seconds = time.perf_counter() - began
        book = journal()
        events = book.execute(lambda connection: connection.execute("SELECT count(*) FROM events").fetchone()[0])
        size = sum(file.stat().st_size for file in home.iterdir())
        searched = time.perf_counter()
        book.execute(search.update_index)
        found = book.read(lambda connection: search.search(connection, "lorem 17"))
        listed = time.perf_counter()
        lines = book.read(queries.list_turns)
        ended = time.perf_counter()
        assert found
        assert len(lines) == total
        print(  # noqa: T201 - the same
            f"{total:5}  {seconds / (total - done) * 1000:9.1f}  {events / total:13.1f}  {size / total / 1000:9.1f}"
            f"  {listed - searched:8.2f}  {ended - listed:6.2f}"
        )
        done = total


def count_waits(calls: int = 3) -> tuple[int, int, int]:
    """Return how often a turn with so many calls in a round waits for a write, and for the disk, and its events."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    from nbtool import Chat, tool  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.chat.journal import database, durability, journal  # noqa: PLC0415 - the same
    from nbtool.testing import ScriptedWire, call  # noqa: PLC0415 - the same

    counted: list[int] = []
    synced: list[bool] = []
    write = database.Store._write

    def counting(self: database.Store, together: list[database._Write]) -> None:
        counted.append(sum(len(one.rows) for one in together))
        synced.append(any(row.kind not in durability.UNSYNCED_KINDS for one in together for row in one.rows))
        write(self, together)

    @tool(run="auto")
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}"

    journal.cache_clear()
    database.Store._write = counting  # type: ignore[method-assign]  # counts the calls of the only writing function
    try:
        replies = [[call("fetch", page=n) for n in range(calls)], "Done. " * 50]
        Chat(wire=ScriptedWire(replies), tools=[fetch]).send("Question")
    finally:
        database.Store._write = write  # type: ignore[method-assign]  # the same
    return len(counted), sum(synced), sum(counted)


if __name__ == "__main__":
    main(*sys.argv[1:2] or [None])
