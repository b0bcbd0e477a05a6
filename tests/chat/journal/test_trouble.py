"""What goes wrong in a journal and must not go further: writes that fail together, work that raises, odd disks."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, filesystem, journal, schema
from nbtool.chat.journal import retention as retention_module
from nbtool.chat.journal.database import Store
from nbtool.chat.journal.row import Row
from nbtool.events import Notice
from tests.chat.journal.lacking import failing_connection


def texts(book: Journal) -> list[str]:
    return [event["text"] for event in book.events("t")]


def row(body: str = '{"kind": "notice"}') -> Row:
    return Row(1.0, "c", "t", "notice", body)


def test_two_writes_that_fail_together_give_up_once_and_lose_nothing(tmp_path: Path) -> None:
    book = Journal(tmp_path / "no such folder" / "journal.sqlite")

    async def both() -> None:
        await asyncio.gather(*(book.write("c", "t", [Notice(text)]) for text in ("one", "two")))

    with pytest.warns(UserWarning, match="history stays in memory") as warned:
        asyncio.run(both())

    assert len(warned) == 1
    assert sorted(texts(book)) == ["one", "two"]


def test_a_journal_in_memory_that_fails_stops_no_turn_and_warns_of_no_file() -> None:
    book = Journal(None)
    book.execute(lambda connection: connection.execute("DROP TABLE events"))
    asyncio.run(book.write("c", "t", [Notice("lost")]))  # a warning would be an error

    assert book.path is None
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        book.read(lambda connection: connection.execute("SELECT * FROM events").fetchall())


def test_a_home_that_cannot_be_made_leaves_history_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "file" / "home"))
    journal.cache_clear()
    with pytest.warns(UserWarning, match="History stays in memory"):
        book = journal()
    journal.cache_clear()

    assert book.path is None


def test_a_write_that_the_database_has_undone_is_reported_to_all_who_wait_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "journal.sqlite")
    trigger = (
        "CREATE TRIGGER no BEFORE INSERT ON events WHEN NEW.kind = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'undone'); END"
    )
    store.change(lambda connection: connection.execute(trigger)).result(240)
    held, goes_on = threading.Event(), threading.Event()
    store.change(lambda _: (held.set(), goes_on.wait(240)))
    held.wait(240)
    together = [store.write([row()]), store.write([Row(1.0, "c", "t", "bad", "{}")])]
    goes_on.set()
    for write in together:
        with pytest.raises(sqlite3.IntegrityError, match="undone"):
            write.result(240)
    store.write([row()]).result(240)
    store.change(lambda connection: connection.execute("DROP TRIGGER no")).result(240)  # no journal with one is read

    count = store.read(lambda connection: connection.execute("SELECT count(*) FROM events").fetchone(), seconds=10)
    assert count == (1,)


def test_what_is_written_while_the_file_is_being_closed_is_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    held, goes_on = threading.Event(), threading.Event()
    store.change(lambda _: (held.set(), goes_on.wait(240)))
    held.wait(240)
    closed, late = store.close(), store.write([row()])
    goes_on.set()
    closed.result(240)
    late.result(240)

    count = store.read(lambda connection: connection.execute("SELECT count(*) FROM events").fetchone(), seconds=10)
    assert count == (1,)


def test_reading_does_not_wait_for_ever_for_a_writing_thread_that_hangs(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row()]).result(240)
    goes_on = threading.Event()
    store.change(lambda _: goes_on.wait(240))

    with pytest.raises(TimeoutError):
        store.read(lambda _: None, seconds=0.05)
    goes_on.set()


def test_work_that_raises_leaves_nothing_half_done(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row()]).result(240)

    def work(connection: sqlite3.Connection) -> object:
        def half() -> None:
            connection.execute("DELETE FROM events")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            retention_module._in_transaction(connection, half)
        with pytest.raises(sqlite3.OperationalError):
            retention_module._in_transaction(
                connection, lambda: connection.execute("ROLLBACK") and connection.execute("no SQL")
            )
        return connection.in_transaction, connection.execute("SELECT count(*) FROM events").fetchone()

    assert store.change(work).result(240) == (False, (1,))


def test_a_vacuum_to_less_than_anything_takes_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row(), Row(2.0, "c", "", "notice", "{}")]).result(240)
    retention = retention_module.Retention(megabytes=0.000001)

    assert store.change(lambda connection: retention_module.vacuum(connection, retention)).result(240).turns == 1


def test_a_share_of_windows_is_a_network_and_a_system_without_mounts_says_nothing(tmp_path: Path) -> None:
    assert filesystem.is_network_path(Path("//server/share/journal.sqlite"))
    assert not filesystem.is_network_path(tmp_path, tmp_path / "none")


def test_a_check_that_takes_too_long_has_found_no_damage(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row(json.dumps({"text": f"{number} " * 200})) for number in range(500)]).result(240)

    assert store.change(lambda connection: schema._find_damage(connection, -1.0)).result(240) == ""


def test_damage_is_found_in_time_and_not_later(tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE events (body TEXT)")
        connection.executemany("INSERT INTO events VALUES (?)", [("{}",)] * 5_000 + [(None,)])
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'TEXT', 'TEXT NOT NULL')")
    with closing(sqlite3.connect(path)) as connection:
        assert "events.body" in schema._find_damage(connection, 60.0)
        assert schema._find_damage(connection, -60.0) == ""


def test_of_a_large_file_only_the_latest_event_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    store = Store(path)
    store.write([row(json.dumps({"text": f"{number} " * 200})) for number in range(500)]).result(240)
    store.close().result(240)
    with closing(sqlite3.connect(path)) as connection:
        page, size = schema.pragma_number(connection, "page_size"), schema.pragma_number(connection, "page_count")
    content = bytearray(path.read_bytes())
    content[(size // 2) * page : (size // 2 + 1) * page] = b"\xff" * page
    path.write_bytes(content)

    with closing(sqlite3.connect(path)) as connection:
        assert schema._find_damage(connection, 60.0)
        assert schema._find_damage(connection, 60.0, max_bytes=page) == ""


def test_a_large_file_whose_latest_event_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    store = Store(path)
    store.write([row(json.dumps({"text": "x" * 100_000}))]).result(240)
    store.close().result(240)
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: len(content) // 2])

    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.DatabaseError, match="malformed"):
        schema._find_damage(connection, 60.0, max_bytes=1)


def test_a_check_that_fails_otherwise_is_no_check() -> None:
    with (
        failing_connection("disk I/O error") as connection,
        pytest.raises(sqlite3.OperationalError, match="disk I/O error"),
    ):
        schema._find_damage(connection)


def test_of_two_disks_on_one_place_the_later_covers_the_earlier() -> None:
    mounts = "26 1 259:1 / / rw - ext4 a rw\n27 26 0:1 / /home rw - ext4 b rw\n28 26 0:2 / /home rw - nfs4 c rw\n"

    assert filesystem.file_system(Path("/home/ada"), mounts) == "nfs4"
    assert filesystem.file_system(Path("/elsewhere"), "no mount\n26 1 259:1 /\n" + mounts) == "ext4"
    assert filesystem.file_system(Path("/home"), "") == ""


def test_mounts_that_are_no_utf8_are_read(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_bytes(b"26 1 259:1 / / rw - nfs4 \xff rw\n")

    assert filesystem.is_network_path(tmp_path, mounts)


def test_each_statement_is_committed_by_itself_until_a_transaction_starts(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(schema.connect(path)) as connection:
        connection.execute("INSERT INTO chats VALUES ('c', 1.0, '')")
        with closing(schema.open_to_read(path)) as reader:
            assert reader.execute("SELECT count(*) FROM chats").fetchone() == (1,)
            assert reader.isolation_level is None
        assert not connection.in_transaction


def test_a_connection_may_be_used_from_another_thread(tmp_path: Path) -> None:
    connection = schema.connect(tmp_path / "journal.sqlite")
    worker = threading.Thread(target=connection.close)
    worker.start()
    worker.join()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_reading_where_there_is_no_journal_leaves_no_database_open(tmp_path: Path) -> None:
    connection = Store(tmp_path / "journal.sqlite").read(lambda empty: empty, seconds=10)

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
