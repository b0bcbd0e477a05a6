"""Reading and searching a journal that is not as it should be."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, blobs, queries, search
from nbtool.chat.journal.database import Store
from nbtool.chat.journal.dataframe import END_SECONDS, frame
from nbtool.chat.journal.queries import TurnRow
from nbtool.chat.journal.row import Row
from nbtool.errors import BadUsage, JournalError
from nbtool.events import Notice, TurnStarted
from nbtool.messages import user
from tests.chat.journal.lacking import failing_connection


def test_a_python_whose_sqlite_cannot_search_says_so() -> None:
    no_search = pytest.raises(JournalError, match=r"The SQLite of this Python has no full-text search \(FTS5\)\.")
    with failing_connection("no such module: fts5") as connection, no_search:
        search.update_index(connection)
    with (
        failing_connection("database is locked") as connection,
        pytest.raises(sqlite3.OperationalError, match="is locked"),
    ):
        search.update_index(connection)


def test_an_index_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([Row(1.0, "c", "t", "turn_started", '{"kind": "turn_started"}')]).result(240)

    def work(connection: sqlite3.Connection) -> bool:
        connection.execute("DROP TABLE events")
        with pytest.raises(sqlite3.OperationalError, match="no such table: events"):
            search.update_index(connection)
        return connection.in_transaction

    assert store.change(work).result(240) is False


def test_an_index_that_the_database_has_undone_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.change(search.update_index).result(240)
    trigger = "CREATE TRIGGER no BEFORE UPDATE ON searchable BEGIN SELECT RAISE(ROLLBACK, 'undone'); END"
    store.change(lambda connection: connection.execute(trigger)).result(240)

    with pytest.raises(sqlite3.IntegrityError, match="undone"):
        store.change(search.update_index).result(240)
    assert store.change(lambda connection: connection.in_transaction).result(240) is False


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(BadUsage, match="A frame needs pandas") as raised:
        frame([])
    assert raised.value.fix == "`%pip install pandas`"


def test_a_turn_that_broke_off_is_a_row_of_empty_fields(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [TurnStarted("t", "m", user("Hi"), 1.0)]))
    (line,) = book.read(queries.list_turns)

    assert (line.rounds, line.calls, line.seconds, line.input_tokens, line.output_tokens, line.cost, line.error) == (
        0, 0, 0.0, 0, 0, None, "",
    )  # fmt: skip
    assert TurnRow("c", "t", "", 1.0, "m", "", "Hi", "") == replace(line, status="", notebook="")


def test_the_notebook_of_a_journal_is_empty_or_a_bounded_name(tmp_path: Path) -> None:
    assert Journal(None).notebook == ""
    assert Journal(tmp_path / "journal.sqlite", notebook="n" * 2_000).notebook == "n" * 1_000


def test_a_time_that_no_calendar_knows_is_none() -> None:
    lines = [TurnRow("c", "t", "", at, "m", "", "", "") for at in (1.0, END_SECONDS, 1e30)]

    assert [str(at) for at in frame(lines)["started"]] == ["1970-01-01 00:00:01+00:00", "NaT", "NaT"]
    assert str(frame(lines)["started"].dt.tz) == "UTC"


@pytest.mark.parametrize("body", ['{"kind": "notice", "n": NaN}', '{"kind": "notice", "n": Infinity}', '{"kind": "not'])
def test_an_event_that_is_no_json_is_none(tmp_path: Path, body: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [Notice("one"), Notice("two")]))
    book.execute(lambda connection: connection.execute("UPDATE events SET body = ? WHERE seq = 1", (body,)))

    assert [event.get("text") for event in book.events("t")][-1] == "two"
    with pytest.raises(ValueError, match=r"expected value|EOF"), closing(sqlite3.connect(":memory:")) as connection:
        blobs.restore(connection, 1, body)
