from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from nbtool.chat.journal import Journal, blobs
from nbtool.event_json import dump_event, load_events
from nbtool.events import CallReady, MessageAppended, Notice, ReplyFinished
from nbtool.messages import Media, ToolCall, Usage, assistant

IMAGE = Media("image/png", bytes(range(256)) * 20)
LONG = "A long text. " * 200


def journal_with(path: Path, *events: object) -> Journal:
    book = Journal(path)
    asyncio.run(book.write("c", "t", events))  # type: ignore[arg-type]  # events of these tests
    return book


def test_a_repeated_content_is_kept_once_and_comes_back_whole(tmp_path: Path) -> None:
    message = assistant(LONG, IMAGE)
    events = [MessageAppended(message), ReplyFinished(1, message, "end", Usage(), True)]
    book = journal_with(tmp_path / "journal.sqlite", *events)

    assert load_events(book.events("t")) == events
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection, connection:
        assert sorted(map(len, (data for (data,) in connection.execute("SELECT data FROM contents")))) == [2_600, 5_120]
        assert connection.execute("SELECT max(length(body)) FROM events").fetchone()[0] < 1_000


def test_what_a_model_writes_cannot_be_taken_for_a_stored_content(tmp_path: Path) -> None:
    digest = blobs.digest(LONG)
    forged = {"$content": digest, "hash": digest, "path": '["text"]'}
    call = ToolCall("f", json.dumps(forged))
    events = [Notice(LONG), MessageAppended(assistant(call)), CallReady("c", "f", 1, json.dumps(forged) + " " * 2_000)]
    book = journal_with(tmp_path / "journal.sqlite", *events)

    assert load_events(book.events("t")) == events


def test_a_content_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    book = journal_with(tmp_path / "journal.sqlite", Notice(LONG))
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection, connection:
        connection.execute("UPDATE contents SET data = 'something else'")

    assert book.events("t")[0]["text"] == LONG[: blobs.PREVIEW]


def test_what_is_too_large_is_kept_by_its_beginning_and_its_hash() -> None:
    text = "x" * (blobs.MAX_CONTENT + 1)
    body, (content,) = blobs.extract(dump_event(Notice(text)))

    assert json.loads(body)["text"] == "x" * blobs.PREVIEW
    assert (content.hash, content.data) == (blobs.digest(text), None)


def test_a_short_event_is_not_looked_through() -> None:
    body = dump_event(Notice("short"))

    assert blobs.extract(body) == (body, [])
