from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, queries, search
from nbtool.chat.journal import retention as retention_module
from nbtool.chat.journal.row import Row
from nbtool.errors import BadUsage
from nbtool.event_json import dump_event
from nbtool.events import Event, ReplyFinished, TextDelta, TurnStarted
from nbtool.messages import Usage, assistant, user

DAY = 86_400.0


def write_events(book: Journal, turn_id: str, *events: Event, days_ago: float = 0) -> None:
    at = time.time() - days_ago * DAY
    rows = [Row(at, "c", turn_id, event.kind, dump_event(event)) for event in events]
    book._store.write(rows).result(10)


def prompt(turn_id: str, text: str) -> TurnStarted:
    return TurnStarted(turn_id, "m", user(text), 1.0)


def vacuum(book: Journal, **retention: float) -> retention_module.VacuumResult:
    return book.execute(lambda connection: retention_module.vacuum(connection, retention_module.Retention(**retention)))


def test_a_vacuum_drops_what_was_written_twice_and_no_turn(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    reply = ReplyFinished(1, assistant("Hello"), "end", Usage(), True)
    write_events(book, "t1", prompt("t1", "Hi"), TextDelta("Hel"), TextDelta("lo"), reply, TextDelta("and a piece"))

    swept = vacuum(book)

    assert swept.turns == 0
    assert [event["kind"] for event in book.events("t1")] == ["turn_started", "reply_finished", "text_delta"]


def test_a_vacuum_drops_turns_by_age(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_events(book, "old", prompt("old", "An old thing " * 500), days_ago=31)
    write_events(book, "new", prompt("new", "A new thing"), days_ago=29)

    swept = vacuum(book, days=30)

    assert swept.turns == 1
    assert [line.turn_id for line in book.read(queries.list_turns)] == ["new"]
    assert book.execute(lambda connection: connection.execute("SELECT count(*) FROM contents").fetchone()) == (0,)


def test_a_vacuum_drops_the_oldest_turns_by_size(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    for number in range(300):
        write_events(book, f"t{number}", prompt(f"t{number}", f"{number} " * 2_000))

    swept = vacuum(book, megabytes=1)

    left = [line.turn_id for line in book.read(queries.list_turns)]
    assert swept.after <= 1_000_000 < swept.before
    assert left == [f"t{number}" for number in range(300 - len(left), 300)]
    assert left


def test_settings_say_what_a_vacuum_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL_DAYS", "90")
    monkeypatch.setenv("NBTOOL_JOURNAL_MB", "0.5")

    assert retention_module.Retention.from_environment() == retention_module.Retention(90, 0.5)


@pytest.mark.parametrize("said", ["ninety", "-1", "nan", "inf", "1e999"])
def test_a_setting_that_is_no_number_says_so(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL_DAYS", said)

    with pytest.raises(BadUsage, match="NBTOOL_JOURNAL_DAYS"):
        retention_module.Retention.from_environment()


@pytest.mark.parametrize("id_", ["", "c", "t1"])
def test_what_is_erased_is_in_no_file_any_more(tmp_path: Path, id_: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_events(book, "t1", prompt("t1", "SENTINEL " * 300), prompt("t1", "short SENTINEL"))
    write_events(book, "t2", prompt("t2", "something else"))
    book.execute(search.update_index)

    turns = book.execute(lambda connection: retention_module.erase(connection, id_))

    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert turns == (1 if id_ == "t1" else 2)
    assert b"sentinel" not in files.lower()
    assert (b"something else" in files) is (id_ == "t1")


def test_a_kernel_goes_on_after_another_erased_everything(tmp_path: Path) -> None:
    one, other = Journal(tmp_path / "journal.sqlite"), Journal(tmp_path / "journal.sqlite")
    write_events(one, "t1", prompt("t1", "long " * 500))
    other.execute(retention_module.erase)
    write_events(one, "t2", prompt("t2", "long " * 500))

    assert [(line.turn_id, line.prompt) for line in other.read(queries.list_turns)] == [("t2", "long " * 500)]


def test_a_search_after_a_vacuum_finds_what_is_left(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_events(book, "t1", prompt("t1", "a quick fox"))
    book.execute(search.update_index)
    vacuum(book)
    asyncio.run(book.write("c", "t2", [prompt("t2", "another fox")]))
    book.execute(search.update_index)

    assert [one.turn_id for one in book.read(lambda connection: search.search(connection, "fox"))] == ["t2", "t1"]
