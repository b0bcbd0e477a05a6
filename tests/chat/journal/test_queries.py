from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, queries
from nbtool.errors import JournalError
from nbtool.events import Notice, ReplyFinished, TurnEnded, TurnStarted
from nbtool.messages import Usage, assistant, user


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    """Return a journal with three chats, of which the first was used last."""
    made = Journal(tmp_path / "journal.sqlite", notebook="a.ipynb")
    for chat_id, turn_id in (("c1", "t1"), ("c12", "t2"), ("d", "t3"), ("c1", "t4")):
        asyncio.run(made.write(chat_id, turn_id, [TurnStarted(turn_id, "m", user(f"Ask {turn_id}"), 1.0)]))
    return made


@pytest.mark.parametrize(
    ("begin", "found"),
    [("c1", ["c1"]), ("c12", ["c12"]), ("c", ["c1", "c12"]), ("d", ["d"]), ("e", []), ("", ["c1", "c12"])],
)
def test_chats_are_found_by_the_beginning_of_their_ids_or_by_a_whole_id(
    book: Journal, begin: str, found: list[str]
) -> None:
    assert book.read(lambda connection: queries.find_chats(connection, begin)) == found


def test_turns_are_found_likewise(book: Journal) -> None:
    assert book.read(lambda connection: queries.find_turns(connection, "t3")) == ["t3"]
    assert book.read(lambda connection: queries.find_turns(connection, "t")) == ["t1", "t2"]


def test_the_latest_chats_are_listed_and_all_are_counted(book: Journal) -> None:
    lines = book.read(lambda connection: queries.list_chats(connection, 2))

    assert [(line.chat_id, line.turns, line.title) for line in lines] == [("c1", 2, "Ask t1"), ("d", 1, "Ask t3")]
    assert book.read(queries.count_chats) == [3]


def test_turns_are_listed_in_order_with_their_ends(book: Journal) -> None:
    long, ended = "long " * 500, TurnEnded("completed", "A " * 1_000, Usage(), 1, 0, 1.0)
    asyncio.run(book.write("c1", "t5", [TurnStarted("t5", "m", user(long), 1.0), ended]))
    forged = (2**62, 1.0, "c", "t", "turn_started", "no JSON")
    book.execute(lambda connection: connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", forged))
    book.execute(
        lambda connection: connection.execute("INSERT INTO turns VALUES ('t', 'c', '', 1.0, ?, NULL, 0)", (2**62,))
    )

    lines = book.read(queries.list_turns)
    assert [line.turn_id for line in lines] == ["t1", "t2", "t3", "t4", "t5"]
    assert [(line.status, line.prompt, line.text) for line in lines[3:]] == [
        ("unfinished", "Ask t4", ""),
        ("completed", long, ended.text),
    ]


def test_a_turn_is_listed_with_its_last_reply_that_has_text(book: Journal) -> None:
    replies = [
        ReplyFinished(number, assistant(text), "end", Usage(), True) for number, text in enumerate(["Ah.", "Oh.", ""])
    ]
    ended = TurnEnded("completed", "", Usage(), 3, 0, 1.0)
    asyncio.run(book.write("c1", "t5", [TurnStarted("t5", "m", user("Hi"), 1.0), *replies, ended]))

    assert book.read(queries.list_turns)[-1].text == "Oh."


def test_of_many_turns_the_latest_are_listed(book: Journal) -> None:
    lines = book.read(lambda connection: queries.list_turns(connection, max_turns=2))

    assert [line.turn_id for line in lines] == ["t3", "t4"]


def test_lists_and_searches_of_ids_read_by_the_index_and_no_whole_table(book: Journal) -> None:
    statements: list[str] = []

    def plan(connection: sqlite3.Connection) -> list[str]:
        connection.set_trace_callback(statements.append)
        queries.find_chats(connection, "c")
        queries.list_chats(connection, 2)
        queries.count_chats(connection)
        connection.set_trace_callback(None)
        explained = (connection.execute(f"EXPLAIN QUERY PLAN {one}") for one in tuple(statements))
        return [str(row[-1]) for rows in explained for row in rows]

    steps = book.read(plan)

    assert any("SEARCH events" in step for step in steps)
    assert [step for step in steps if step.startswith("SCAN events")] == []


@pytest.mark.promise("bounded")
def test_a_chat_of_too_many_events_is_not_opened_and_the_ways_to_its_turns_are_named() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, chat_id TEXT, turn_id TEXT, body TEXT)")
        connection.execute(
            "WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n LIMIT ?)"
            " INSERT INTO events SELECT seq, 'c', 't', '' FROM n",
            (queries.MAX_EVENTS + 1,),
        )
        with pytest.raises(JournalError) as refused:
            queries.chat_events(connection, "c")

    assert f"{queries.MAX_EVENTS:,}" in str(refused.value)
    assert "`%chat show TURN`" in refused.value.fix
    assert "`%chat history search TEXT`" in refused.value.fix


def test_a_chat_without_a_turn_is_listed_without_a_title(book: Journal) -> None:
    asyncio.run(book.write("e", "t5", [Notice("before its turn")]))

    (line,) = book.read(lambda connection: queries.list_chats(connection, 1))
    assert (line.chat_id, line.turns, line.title) == ("e", 0, "")
