"""What goes wrong in a journal and must not go further: writes that fail together, work that raises, odd disks."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import (
    Journal,
    Scribe,
    contents,
    disks,
    journal,
    keeping,
    layout,
    private,
    reading,
    scribe,
    search,
)
from nbtool.chat.journal.frame import frame
from nbtool.chat.journal.reading import TurnLine
from nbtool.chat.journal.store import Row, Store
from nbtool.errors import BadUsage, JournalError
from nbtool.events import CallDecided, CallFinished, CallProgress, CallStarted, Notice, TurnStarted
from nbtool.messages import user

LONG = "A long text. " * 200


def texts(book: Journal) -> list[str]:
    return [event["text"] for event in book.events("t")]


def row(body: str = '{"kind": "notice"}') -> Row:
    return Row(1.0, "c", "t", "notice", body)


# --- writing --------------------------------------------------------------------------------------------------


def test_two_writes_that_fail_together_give_up_once_and_lose_nothing(tmp_path: Path) -> None:
    book = Journal(tmp_path / "no such folder" / "journal.sqlite")

    async def both() -> None:
        await asyncio.gather(*(book.record("c", "t", [Notice(text)]) for text in ("one", "two")))

    with pytest.warns(UserWarning, match="history stays in memory") as warned:
        asyncio.run(both())

    assert len(warned) == 1
    assert sorted(texts(book)) == ["one", "two"]


def test_a_journal_in_memory_that_fails_stops_no_turn_and_warns_of_no_file() -> None:
    book = Journal(None)
    book.change(lambda connection: connection.execute("DROP TABLE events"))
    asyncio.run(book.record("c", "t", [Notice("lost")]))  # a warning would be an error

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


def test_a_write_that_the_database_has_undone_is_told_to_all_who_wait_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "journal.sqlite")
    trigger = (
        "CREATE TRIGGER no BEFORE INSERT ON events WHEN NEW.kind = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'undone'); END"
    )
    store.change(lambda connection: connection.execute(trigger)).result(10)
    held, goes_on = threading.Event(), threading.Event()
    store.change(lambda _: (held.set(), goes_on.wait(10)))
    held.wait(10)
    together = [store.write([row()]), store.write([Row(1.0, "c", "t", "bad", "{}")])]
    goes_on.set()
    for write in together:
        with pytest.raises(sqlite3.IntegrityError, match="undone"):
            write.result(10)
    store.write([row()]).result(10)

    count = store.read(lambda connection: connection.execute("SELECT count(*) FROM events").fetchone(), seconds=10)
    assert count == (1,)


def test_reading_does_not_wait_for_ever_for_a_writing_thread_that_hangs(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row()]).result(10)
    goes_on = threading.Event()
    store.change(lambda _: goes_on.wait(10))

    with pytest.raises(TimeoutError):
        store.read(lambda _: None, seconds=0.05)
    goes_on.set()


def test_work_that_raises_leaves_nothing_half_done(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row()]).result(10)

    def work(connection: sqlite3.Connection) -> object:
        def half() -> None:
            connection.execute("DELETE FROM events")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            keeping._together(connection, half)
        with pytest.raises(sqlite3.OperationalError):
            keeping._together(connection, lambda: connection.execute("ROLLBACK") and connection.execute("no SQL"))
        return connection.in_transaction, connection.execute("SELECT count(*) FROM events").fetchone()

    assert store.change(work).result(10) == (False, (1,))


def test_a_vacuum_to_less_than_anything_takes_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row(), Row(2.0, "c", "", "notice", "{}")]).result(10)
    retention = keeping.Retention(megabytes=0.000001)

    assert store.change(lambda connection: keeping.vacuum(connection, retention)).result(10).turns == 1


# --- long contents --------------------------------------------------------------------------------------------


def test_a_content_that_is_too_large_leaves_its_beginning_and_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MAX_CONTENT", 1_000)
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.record("c", "t", [Notice(LONG)]))

    assert texts(book) == [LONG[: contents.PREVIEW]]
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        assert connection.execute("SELECT hash FROM places").fetchall() == [(contents.digest(LONG),)]
        assert connection.execute("SELECT * FROM contents").fetchall() == []


@pytest.mark.parametrize("data", ["%" * 2_000, "YQ" * 1_000 + "Y", "é" * 2_000])
def test_media_whose_data_are_no_base64_are_kept_as_text(data: str) -> None:
    body, (content,) = contents.split(json.dumps({"kind": "media", "data": data}))

    assert json.loads(body)["data"] == data[: contents.PREVIEW]
    assert content.data == data


@pytest.mark.parametrize("path", ['["text", "deeper"]', '["gone"]', "[7]", "no JSON", "[]", '["kind", 99]'])
def test_a_content_whose_place_is_not_there_changes_nothing(tmp_path: Path, path: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.record("c", "t", [Notice(LONG)]))
    book.change(lambda connection: connection.execute("UPDATE places SET path = ?", (path,)))

    assert texts(book) == [LONG[: contents.PREVIEW]]


def test_a_content_is_put_only_where_a_text_stands(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.record("c", "t", [CallFinished("c1", "f", 1, "ok", LONG)]))
    book.change(lambda connection: connection.execute("""UPDATE places SET path = '["round"]'"""))
    (event,) = book.events("t")

    assert event["round"] == 1


# --- disks ----------------------------------------------------------------------------------------------------


def test_a_share_of_windows_is_a_network_and_a_system_without_mounts_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert disks.is_network(Path("//server/share/journal.sqlite"))
    monkeypatch.setattr(disks, "MOUNTS", tmp_path / "none")
    assert not disks.is_network(tmp_path)


def test_a_check_that_takes_too_long_has_found_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([row(json.dumps({"text": f"{number} " * 200})) for number in range(500)]).result(10)
    monkeypatch.setattr(layout, "CHECK_SECONDS", -1.0)

    assert store.change(layout._damage).result(10) == ""


class Lacking(sqlite3.Connection):
    """A SQLite that fails where it is told to."""

    says = ""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # type: ignore[override]  # as it is called here
        if self.says and ("fts5" in sql or "quick_check" in sql):
            raise sqlite3.OperationalError(self.says)
        return super().execute(sql, *values)


def lacking(says: str) -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", factory=Lacking)
    made.says = says
    return made


def test_a_check_that_fails_otherwise_is_no_check() -> None:
    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        layout._damage(lacking("disk I/O error"))


# --- searching ------------------------------------------------------------------------------------------------


def test_a_python_whose_sqlite_cannot_search_says_so() -> None:
    with pytest.raises(JournalError, match=r"The SQLite of this Python has no full-text search \(FTS5\)\."):
        search.prepare(lacking("no such module: fts5"))
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        search.prepare(lacking("database is locked"))


def test_an_index_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.write([Row(1.0, "c", "t", "turn_started", '{"kind": "turn_started"}')]).result(10)

    def work(connection: sqlite3.Connection) -> bool:
        with pytest.raises(sqlite3.OperationalError, match="no such table: searchable"):
            search._take_in(connection)
        return connection.in_transaction

    assert store.change(work).result(10) is False


def test_an_index_that_the_database_has_undone_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    store.change(search.prepare).result(10)
    trigger = "CREATE TRIGGER no BEFORE UPDATE ON searchable BEGIN SELECT RAISE(ROLLBACK, 'undone'); END"
    store.change(lambda connection: connection.execute(trigger)).result(10)

    with pytest.raises(sqlite3.IntegrityError, match="undone"):
        store.change(search.prepare).result(10)
    assert store.change(lambda connection: connection.in_transaction).result(10) is False


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(BadUsage, match="A frame needs pandas") as raised:
        frame([])
    assert raised.value.fix == "`%pip install pandas`"


# --- the scribe -----------------------------------------------------------------------------------------------


def test_a_scribe_with_nothing_to_write_writes_nothing(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(Scribe(book, "c", "t").write())

    assert list(tmp_path.iterdir()) == []


def test_of_what_a_guarded_call_prints_only_so_much_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scribe, "MAX_HELD", 2)
    book = Journal(tmp_path / "journal.sqlite")
    writer = Scribe(book, "c", "t")
    events = [CallStarted("c1", 1.0, "loop", "", True), *(CallProgress("c1", text) for text in "abc")]
    for event in [*events, CallFinished("c1", "f", 1, "ok", "done")]:
        asyncio.run(writer.write(event))

    assert [event["text"] for event in book.events("t") if event["kind"] == "call_progress"] == ["ab"]


# --- small things that matter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["withheld", "released"])
@pytest.mark.parametrize("status", ["ok", "error", "cancelled"])
def test_what_a_guarded_call_printed_is_kept_with_a_result_that_was_released_and_is_known(
    tmp_path: Path, status: Any, verdict: Any
) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = Scribe(book, "c", "t")
    decided = CallDecided("c1", "result", "d1", verdict, "button")
    for event in (
        CallStarted("c1", 1.0, "loop", "", True),
        CallProgress("c1", "a", 0.5),
        CallProgress("c1", "b"),
        decided,
        CallFinished("c1", "f", 1, status, "done"),
    ):
        asyncio.run(writer.write(event))
    kept = [(event["text"], event["fraction"]) for event in book.events("t") if event["kind"] == "call_progress"]

    assert kept == ([("ab", 0.5)] if verdict == "released" and status != "cancelled" else [])


def test_what_a_call_prints_is_gathered_for_a_while_and_then_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = Scribe(book, "c", "t")
    asyncio.run(writer.write(CallProgress("c1", "a")))
    before = book.events("t")
    monkeypatch.setattr(scribe, "GATHER_SECONDS", -1.0)
    asyncio.run(writer.write(CallProgress("c1", "b")))

    assert before == []
    assert texts(book) == ["a", "b"]


def test_of_two_disks_on_one_place_the_later_covers_the_earlier() -> None:
    mounts = "26 1 259:1 / / rw - ext4 a rw\n27 26 0:1 / /home rw - ext4 b rw\n28 26 0:2 / /home rw - nfs4 c rw\n"

    assert disks.file_system(Path("/home/ada"), mounts) == "nfs4"
    assert disks.file_system(Path("/elsewhere"), "no mount\n26 1 259:1 /\n" + mounts) == "ext4"
    assert disks.file_system(Path("/home"), "") == ""


def test_mounts_that_are_no_utf8_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_bytes(b"26 1 259:1 / / rw - nfs4 \xff rw\n")
    monkeypatch.setattr(disks, "MOUNTS", mounts)

    assert disks.is_network(tmp_path)


def test_names_and_ids_of_events_are_never_hidden_and_everything_else_is() -> None:
    words = """
    kind role turn_id call_id id message_id digest node_id parent_id child_id cell_id mime verdict gate status
    stop_reason level op phase wire
    """
    names = dict.fromkeys(words.split(), "private")
    free = {"private": ["private", 5, True, None]}
    inside = dict.fromkeys(("args", "payload", "schema", "resolved"), free)
    event = {**names, **inside, "text": "private", "n": 5, "deep": [{"op": "private"}]}
    hidden = json.loads(private.without_private(json.dumps(event), lambda text: re.sub("private|5", "…", text)))

    assert {name: hidden[name] for name in names} == names
    assert (hidden["text"], hidden["n"], hidden["deep"]) == ("…", 5, [{"op": "private"}])
    assert [hidden[name] for name in inside] == [{"…": ["…", "…", True, None]}] * 4


def test_the_data_of_a_picture_are_not_looked_through() -> None:
    event = {"kind": "media", "data": "private", "name": "private", "other": {"kind": "text", "data": "private"}}
    hidden = json.loads(private.without_private(json.dumps(event), lambda _: "…"))

    assert hidden == {"kind": "media", "data": "private", "name": "…", "other": {"kind": "text", "data": "…"}}


def test_a_turn_that_broke_off_is_a_row_of_empty_fields(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.record("c", "t", [TurnStarted("t", "m", user("Hi"), 1.0)]))
    (line,) = book.read(reading.turns)

    assert (line.rounds, line.calls, line.seconds, line.input_tokens, line.output_tokens, line.cost, line.error) == (
        0, 0, 0.0, 0, 0, None, "",
    )  # fmt: skip
    assert TurnLine("c", "t", "", 1.0, "m", "", "Hi", "") == replace(line, status="", notebook="")


def test_the_notebook_of_a_journal_is_empty_or_a_bounded_name(tmp_path: Path) -> None:
    assert Journal(None).notebook == ""
    assert Journal(tmp_path / "journal.sqlite", notebook="n" * 2_000).notebook == "n" * 1_000


def test_a_time_that_no_calendar_knows_is_none() -> None:
    lines = [TurnLine("c", "t", "", at, "m", "", "", "") for at in (1.0, 1e30)]

    assert [str(at) for at in frame(lines)["started"]] == ["1970-01-01 00:00:01+00:00", "NaT"]
    assert str(frame(lines)["started"].dt.tz) == "UTC"


def test_each_statement_stands_by_itself_until_a_transaction_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(layout.connect(path)) as connection:
        connection.execute("INSERT INTO chats VALUES ('c', 1.0, '')")
        with closing(layout.open_to_read(path)) as reader:
            assert reader.execute("SELECT count(*) FROM chats").fetchone() == (1,)
            assert reader.isolation_level is None
        assert not connection.in_transaction


def test_a_connection_may_be_used_from_another_thread(tmp_path: Path) -> None:
    connection = layout.connect(tmp_path / "journal.sqlite")
    worker = threading.Thread(target=connection.close)
    worker.start()
    worker.join()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.parametrize("body", ['{"kind": "notice", "n": NaN}', '{"kind": "notice", "n": Infinity}', '{"kind": "not'])
def test_an_event_that_is_no_json_is_none(tmp_path: Path, body: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.record("c", "t", [Notice("one"), Notice("two")]))
    book.change(lambda connection: connection.execute("UPDATE events SET body = ? WHERE seq = 1", (body,)))

    assert [event.get("text") for event in book.events("t")][-1] == "two"
    with pytest.raises(ValueError, match=r"expected value|EOF"), closing(sqlite3.connect(":memory:")) as connection:
        contents.whole(connection, 1, body)
