"""The counted effects of the campaign: a row of an SQLite file for each call that ran, so that doubles are counted."""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from pathlib import Path

from nbtool import tool

FILE = "NBTOOL_TEST_EFFECTS"
"""The environment variable of a worker that names the file."""

TOOL = "record"
BUSY_SECONDS = 60.0


@tool
def record(n: int) -> str:
    """Record a number, if that is approved."""
    # committed when this returns, and not lost with the process: only a machine that fails would lose it
    _connect(os.environ[FILE]).execute("INSERT INTO effects VALUES (?)", (n,))
    return f"recorded {n}"


def create_file(path: Path) -> None:
    """Create the file; nothing in it is unique."""
    _connect(str(path)).execute("CREATE TABLE effects (n INTEGER)")


def count_effects(path: Path) -> dict[int, int]:
    """Return how often each number was recorded."""
    return dict(_connect(str(path)).execute("SELECT n, COUNT(*) FROM effects GROUP BY n"))


@cache
def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    return connection
