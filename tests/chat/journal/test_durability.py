from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from nbtool.chat.journal.durability import JournalConnection
from nbtool.chat.journal.row import Row

NORMAL, FULL = 1, 2
"""What SQLite says of a commit that does not wait for the disk, and of one that does."""


def row(kind: str, **content: Any) -> Row:
    return Row(0.0, "c", "t", kind, content)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("rows", "has_log", "waits"),
    [
        ([row("notice"), row("call_ready")], True, NORMAL),
        ([row("call_started", announced=False)], True, FULL),
        ([row("call_started", announced=True)], True, NORMAL),
        ([row("call_started", announced=True), row("turn_ended")], True, FULL),
        ([row("notice")], False, FULL),
    ],
)
def test_a_commit_waits_for_the_disk_where_something_follows_that_cannot_be_repeated(
    rows: list[Row], has_log: bool, waits: int
) -> None:
    connection = sqlite3.connect(":memory:", factory=JournalConnection)
    connection.has_log = has_log
    connection.prepare_commit([row("notice")] if waits == FULL and has_log else [row("turn_ended")])

    connection.prepare_commit(rows)

    assert connection.execute("PRAGMA synchronous").fetchone() == (waits,)
    connection.close()
