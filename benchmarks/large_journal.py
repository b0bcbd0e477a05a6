"""How reading a journal grows with its size: opening it, finding and listing chats, reading one, searching.

    python -m benchmarks.large_journal TURNS

The file has copies of one real turn, 50 in a chat. Prints a line of JSON; memory is that of a new process.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.streamed_map import peak_kb

TURNS_A_CHAT = 50
REPEATS = 20
BATCH = 5_000


def write_turns(home: Path, count: int) -> None:
    """Write a journal of `count` turns."""
    from nbtool import Chat, tool  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.chat.journal import journal  # noqa: PLC0415 - the same
    from nbtool.testing import ScriptedWire, call  # noqa: PLC0415 - the same

    @tool(run="auto")
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}: " + "lorem ipsum " * 60

    turn = Chat(wire=ScriptedWire([call("fetch", page=1), "The answer is forty-two. " * 20]), tools=[fetch]).send(
        "Why?"
    )
    rows = journal().execute(
        lambda connection: connection.execute("SELECT kind, body FROM events ORDER BY seq").fetchall()
    )
    with closing(sqlite3.connect(home / "journal.sqlite")) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # the file is thrown away
        for begin in range(0, count, BATCH):
            with connection:
                for number in range(begin, min(count, begin + BATCH)):
                    ids = (f"chat_{number // TURNS_A_CHAT:08}", f"turn_{number:08}")
                    connection.execute("INSERT OR IGNORE INTO chats VALUES (?, ?, ?)", (ids[0], number, "a.ipynb"))
                    connection.executemany(
                        "INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, ?, ?, ?, ?)",
                        [(number, *ids, kind, body.replace(turn.turn_id, ids[1])) for kind, body in rows],
                    )


def read(count: int) -> dict[str, Any]:
    """Return the 95th percentile in ms of each way of reading, and the memory of it all."""
    from nbtool.chat.journal import journal, queries, search  # noqa: PLC0415 - NBTOOL_HOME has to be set first

    before, began = peak_kb(), time.perf_counter()
    book, middle = journal(), f"chat_{count // TURNS_A_CHAT // 2:08}"
    book.execute(lambda connection: connection.execute("SELECT 1").fetchone())
    found = {"open": (time.perf_counter() - began) * 1000}
    ways: dict[str, Callable[[sqlite3.Connection], list[Any]]] = {
        "find a chat by its id": lambda connection: queries.find_chats(connection, middle),
        "list the latest chats": lambda connection: queries.list_chats(connection, 20),
        "read a chat": lambda connection: queries.chat_events(connection, middle),
        "find a turn": lambda connection: queries.find_turns(connection, f"turn_{count // 2:08}"),
    }
    for name, way in ways.items():
        found[name] = _slow_time(lambda way=way: book.read(way))
    book.execute(search.update_index)  # not measured: once for each event
    for name, text in (("search for a frequent prefix", "l"), ("search for a prefix that is nowhere", "zebra")):
        found[name] = _slow_time(lambda text=text: book.read(lambda connection: search.search(connection, text)))
    memory = (peak_kb() - before) / 1000
    return {"turns": count, "ms": found, "mb": memory, "file_mb": (book.path or Path()).stat().st_size / 1e6}


def _slow_time(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[round(REPEATS * 0.95) - 1]


def measure(count: int) -> dict[str, Any]:
    """Write a journal and read it, each in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        for step in ("write", "read"):
            command = [sys.executable, "-m", "benchmarks.large_journal", str(count), step]
            environment = {**os.environ, "NBTOOL_HOME": home}
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    if sys.argv[2] == "write":
        write_turns(Path(os.environ["NBTOOL_HOME"]), int(sys.argv[1]))
    else:
        print(json.dumps(read(int(sys.argv[1]))))  # noqa: T201 - what the command is for
