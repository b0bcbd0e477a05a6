from __future__ import annotations

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, Scribe, journal
from nbtool.events import Notice, TextDelta, ThinkingDelta


def written(book: Journal, *events: object, turn_id: str = "t") -> list[dict[str, object]]:
    asyncio.run(book.record("c", turn_id, events))  # type: ignore[arg-type]  # events of these tests
    return book.events(turn_id)


def test_events_are_read_back_in_their_order_as_plain_data(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")

    assert [event["text"] for event in written(book, Notice("one"), Notice("two"))] == ["one", "two"]
    assert book.events("another") == []


def test_what_was_written_is_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    written(book, Notice("kept"))
    book.close()

    assert [event["text"] for event in Journal(path).events("t")] == ["kept"]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    written(Journal(path), Notice("private"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_that_cannot_be_written_says_so_once_and_goes_on_in_memory(tmp_path: Path) -> None:
    book = Journal(tmp_path / "no such folder" / "journal.sqlite")

    with pytest.warns(UserWarning, match="history stays in memory"):
        written(book, Notice("lost"))

    assert [event["text"] for event in written(book, Notice("kept"))] == ["kept"]


def test_a_file_of_a_newer_format_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()

    with pytest.warns(UserWarning, match="newer nbtool"):
        written(Journal(path), Notice("new"))

    assert path.read_bytes() == before


def test_a_corrupt_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"this is no database" * 100)

    with pytest.warns(UserWarning, match="not a database"):
        written(Journal(path), Notice("new"))

    assert path.read_bytes() == b"this is no database" * 100


@pytest.mark.parametrize("steps", range(8))
def test_a_cancellation_that_comes_as_the_write_ends_is_not_swallowed(tmp_path: Path, steps: int) -> None:
    book = Journal(tmp_path / "journal.sqlite")

    async def is_swallowed() -> bool:
        recording = asyncio.ensure_future(book.record("c", "t", [Notice("one")]))
        await asyncio.sleep(0)
        book.events("t")  # waits for the writing thread: the write has ended, and the loop learns of it step by step
        for _ in range(steps):
            await asyncio.sleep(0)
        came_in_time = recording.cancel()
        await asyncio.wait({recording})
        return came_in_time and not recording.cancelled()

    assert not asyncio.run(is_swallowed())


def test_deltas_are_joined_and_written_with_the_next_event(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    scribe = Scribe(book, "c", "t")
    for delta in (ThinkingDelta("H"), ThinkingDelta("m"), TextDelta("H"), TextDelta("i")):
        scribe.note(delta)

    asyncio.run(scribe.write(Notice("end")))

    assert [(event["kind"], event["text"]) for event in book.events("t")] == [
        ("thinking_delta", "Hm"), ("text_delta", "Hi"), ("notice", "end"),
    ]  # fmt: skip


def test_the_journal_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")
    journal.cache_clear()
    try:
        assert journal().path is None
    finally:
        journal.cache_clear()
