"""The table of turns: what a map looks up in it takes as long with a million turns as with none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from nbtool.chat.journal.turn_table import TURN_TABLE, has_acted_elsewhere, turns_of_key

FILL = """
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
INSERT INTO turns SELECT 'turn_' || number, 'map_' || (number % 50), 'map:' || number || ':1', number, number, number, 1
FROM numbers
"""
"""Adds acted turns of 50 maps, each of another prompt."""


@pytest.fixture
def table() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TURN_TABLE)
        yield connection


def steps(connection: sqlite3.Connection) -> int:
    """Count the steps of SQLite's machine in which a map looks up one prompt that is new, and one that is not."""
    counted: list[int] = []
    connection.set_progress_handler(lambda: counted.append(1), 1)
    for key in ("map:new:1", "map:7:1"):
        turns_of_key(connection, "map_7", key)
        has_acted_elsewhere(connection, "map_0", key)
    connection.set_progress_handler(None, 0)
    return len(counted)


def test_a_prompt_is_looked_up_in_the_same_steps_whatever_the_history_has(table: sqlite3.Connection) -> None:
    table.execute(FILL, (10,))
    few = steps(table)
    table.execute("DELETE FROM turns")
    table.execute(FILL, (50_000,))

    assert 0 < steps(table) <= few + 5


def test_a_call_counts_in_another_chat_only(table: sqlite3.Connection) -> None:
    table.execute(FILL, (10,))
    table.execute("UPDATE turns SET acted = 0 WHERE turn_id = 'turn_8'")

    assert has_acted_elsewhere(table, "map_0", "map:7:1")
    assert not has_acted_elsewhere(table, "map_7", "map:7:1")
    assert not has_acted_elsewhere(table, "map_0", "map:8:1")
    assert turns_of_key(table, "map_7", "map:7:1") == ["turn_7"]
