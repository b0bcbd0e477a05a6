from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from nbtool.chat.journal.database import InlineStore, Store, open_store
from nbtool.chat.journal.row import Row
from tests.chat.journal.holding import held_by_another_process
from tests.one_thread import one_thread

ROW = Row(0.0, "c", "t", "notice", "{}")


def count(connection: sqlite3.Connection) -> int:
    found: tuple[int] = connection.execute("SELECT count(*) FROM events").fetchone()
    return found[0]


def test_a_store_without_a_thread_has_written_when_the_call_returns(tmp_path: Path) -> None:
    store = InlineStore(tmp_path / "journal.sqlite")

    assert store.write([ROW]).done()
    assert store.read(count, seconds=0) == 1
    assert store.close().done()


def test_what_is_requested_inside_a_change_is_done_after_it(tmp_path: Path) -> None:
    store = InlineStore(tmp_path / "journal.sqlite")

    def close_inside(connection: sqlite3.Connection) -> int:
        closing = store.close()
        assert not closing.done()
        return count(connection)

    assert store.change(close_inside).result(0) == 0
    assert store.write([ROW]).result(0) is None
    store.close()


def test_a_file_that_another_process_holds_is_not_waited_for(tmp_path: Path) -> None:
    store = InlineStore(tmp_path / "journal.sqlite")
    store.write([ROW]).result(0)
    with held_by_another_process(tmp_path / "journal.sqlite"):
        failed = store.write([ROW])
        assert failed.done()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            failed.result(0)
    store.close()


def test_only_a_process_without_threads_gets_it() -> None:
    assert type(open_store(None)) is Store
    with one_thread():
        assert type(open_store(None)) is InlineStore
