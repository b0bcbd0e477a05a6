"""Texts and pictures on their way into the journal: too long, hidden, printed while nobody may read them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import Journal, TurnWriter, blobs
from nbtool.chat.journal.turn_writer import FLUSH_SECONDS, MAX_WITHHELD_CHUNKS
from nbtool.events import CallDecided, CallFinished, CallProgress, CallStarted, Notice

LONG = "A long text. " * 200


def texts(book: Journal) -> list[str]:
    return [event["text"] for event in book.events("t")]


def test_a_content_that_is_too_large_leaves_its_beginning_and_its_hash(tmp_path: Path) -> None:
    large = LONG * (blobs.MAX_CONTENT // len(LONG) + 1)
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [Notice(large)]))

    assert texts(book) == [large[: blobs.PREVIEW]]
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection, connection:
        assert connection.execute("SELECT hash FROM places").fetchall() == [(blobs.digest(large),)]
        assert connection.execute("SELECT * FROM contents").fetchall() == []


@pytest.mark.parametrize("data", ["%" * 2_000, "YQ" * 1_000 + "Y", "é" * 2_000])
def test_media_whose_data_are_no_base64_are_kept_as_text(data: str) -> None:
    body, (content,) = blobs.extract(json.dumps({"kind": "media", "data": data}))

    assert json.loads(body)["data"] == data[: blobs.PREVIEW]
    assert content.data == data


@pytest.mark.parametrize("path", ['["text", "deeper"]', '["gone"]', "[7]", "no JSON", "[]", '["kind", 99]'])
def test_a_content_whose_place_is_not_there_changes_nothing(tmp_path: Path, path: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [Notice(LONG)]))
    book.execute(lambda connection: connection.execute("UPDATE places SET path = ?", (path,)))

    assert texts(book) == [LONG[: blobs.PREVIEW]]


def test_a_content_is_put_only_where_a_text_is(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [CallFinished("c1", "f", 1, "ok", LONG)]))
    book.execute(lambda connection: connection.execute("""UPDATE places SET path = '["round"]'"""))
    (event,) = book.events("t")

    assert event["round"] == 1


def test_a_writer_with_nothing_to_write_writes_nothing(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(TurnWriter(book, "c", "t").write())

    assert list(tmp_path.iterdir()) == []


def test_of_what_a_guarded_call_prints_only_so_much_is_held(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    events = [
        CallStarted("c1", 1.0, "loop", "", True),
        *(CallProgress("c1", f"{number} ") for number in range(MAX_WITHHELD_CHUNKS + 1)),
    ]
    asyncio.run(writer.write(*events, CallFinished("c1", "f", 1, "ok", "done")))
    (printed,) = (event["text"] for event in book.events("t") if event["kind"] == "call_progress")

    assert printed.split() == [str(number) for number in range(MAX_WITHHELD_CHUNKS)]


@pytest.mark.parametrize("verdict", ["withheld", "released"])
@pytest.mark.parametrize("status", ["ok", "error", "cancelled"])
def test_what_a_guarded_call_printed_is_kept_with_a_result_that_was_released_and_is_known(
    tmp_path: Path, status: Any, verdict: Any
) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    decided = CallDecided("c1", "result", "d1", verdict, "button")
    for event in (
        CallStarted("c1", 1.0, "loop", "", True),
        CallProgress("c1", "a", 0.5),
        CallProgress("c1", "b"),
        decided,
        CallFinished("c1", "f", 1, status, "done"),
    ):
        asyncio.run(writer.write(event))
    stored = [(event["text"], event["fraction"]) for event in book.events("t") if event["kind"] == "call_progress"]

    assert stored == ([("ab", 0.5)] if verdict == "released" and status != "cancelled" else [])


def test_what_a_call_prints_is_gathered_for_a_while_and_then_written(tmp_path: Path) -> None:
    book, times = Journal(tmp_path / "journal.sqlite"), iter([1.0, 1.1 + FLUSH_SECONDS])
    writer = TurnWriter(book, "c", "t", clock=lambda: next(times))
    asyncio.run(writer.write(CallProgress("c1", "a")))
    before = book.events("t")
    asyncio.run(writer.write(CallProgress("c1", "b")))

    assert before == []
    assert texts(book) == ["a", "b"]
