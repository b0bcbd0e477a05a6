"""The index has parts; a search finds in them what it would find in one, and a forged one does not mislead it."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, schema, search
from nbtool.chat.journal.search import JournalHit
from nbtool.errors import JournalError
from nbtool.event_json import dump_event
from nbtool.events import CallReady, Event, Notice, ReplyFinished, TurnStarted
from nbtool.messages import Usage, assistant, user

WORDS = ("fox", "foxes", "foxglove", "dog", "lazy", "quick", "分析", "数据", "Dachshund", "12", "123")
QUERIES = (
    "f",
    "fox",
    "foxg",
    "fox dog",
    "dog f",
    "lazy quick d",
    "数据",
    "分",
    "1",
    "dachshund lazy 1",
    "none",
    "fox none",
)

UNLISTED = """
    CREATE VIRTUAL TABLE words_7 USING fts5(text, content='', tokenize='unicode61');
    CREATE TABLE searchable (id INTEGER PRIMARY KEY CHECK (id = 0), upto INTEGER);
    INSERT INTO searchable VALUES (0, 400);
    INSERT INTO words_7 (rowid, text) VALUES (1, 'zebra');
"""
"""A list of another form, and a part that was being dropped when its process was killed."""

FORGED = (
    UNLISTED, "DROP TABLE words_1", "DROP TABLE searchable", "DELETE FROM searchable",
    "DELETE FROM searchable WHERE part = 2", "UPDATE searchable SET part = -part", "UPDATE searchable SET upto = 'x'",
    f"UPDATE searchable SET upto = {2**62}", "UPDATE searchable SET characters = 'x'",
    "UPDATE searchable SET characters = -9e18", "INSERT INTO searchable VALUES (9223372036854775807, 0, 0)",
    "DROP TABLE searchable; CREATE TABLE Searchable (part, upto, characters); INSERT INTO searchable VALUES ('', 9, 0)",
    "DROP TABLE searchable; CREATE VIRTUAL TABLE searchable USING fts5(part, upto, characters)",
    "DROP TABLE words_2; CREATE TABLE words_2 (text)", "DROP TABLE words_2; CREATE TABLE Words_2 (text)",
    "DROP TABLE words_2; CREATE VIRTUAL TABLE words_2 USING fts5(text, content='events', content_rowid='seq')",
    "DROP TABLE words_2; CREATE VIRTUAL TABLE words_2 USING rtree(id, low, high)",
    "CREATE VIRTUAL TABLE words_999 USING fts5(text, content='', tokenize='unicode61')",
    "CREATE TABLE words_99999999999999999999 (text)", "CREATE TABLE words_999 (text); CREATE TABLE words_999_data (id)",
)  # fmt: skip

BROKEN = ("DROP TABLE words_2_data", "DELETE FROM words_2_data", "DELETE FROM words_2_data WHERE id > 10")


def events_of(count: int) -> Iterator[Event]:
    chance = random.Random(1)
    for number in range(count):
        text = " ".join(chance.choices(WORDS, k=chance.randrange(1, 6)))
        reply = ReplyFinished(1, assistant(text), "end", Usage(), True)
        yield chance.choice(
            (TurnStarted("t", "m", user(text), 1.0), reply, CallReady("c", text, 1, "{}"), Notice(text))
        )
        yield Notice(f"fox {number}")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = schema.connect(None)
    write(connection, events_of(400))
    yield connection
    connection.close()


def write(connection: sqlite3.Connection, events: Iterator[Event]) -> None:
    rows = ((number, event.kind, dump_event(event)) for number, event in enumerate(events))
    connection.executemany("INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, 'c', 't', ?, ?)", rows)


def hits_in(connection: sqlite3.Connection) -> list[list[JournalHit]]:
    return [search.search(connection, query) for query in QUERIES]


def clear(connection: sqlite3.Connection) -> int:
    return sum(1 for _ in search.clear_index(connection))


def index_tables(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE name LIKE '%words%' AND sql LIKE '%VIRTUAL%' ORDER BY rowid"
    return [name for (name,) in connection.execute(query)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [1, 10, 1_000, 5_000])
def test_a_search_of_several_parts_finds_what_one_of_a_single_part_does(
    connection: sqlite3.Connection, size: int
) -> None:
    search.update_index(connection)
    single = hits_in(connection)
    clear(connection)
    search.update_index(connection, size)

    assert len(index_tables(connection)) > 1
    assert hits_in(connection) == single
    assert len(single[0]) == search.MAX_HITS
    assert all(single[:-2])
    assert single[-2:] == [[], []]


def test_parts_are_added_as_events_are_written(connection: sqlite3.Connection) -> None:
    counts = []
    for _ in range(3):
        search.update_index(connection, 2_000)
        search.update_index(connection, 2_000)
        counts.append(len(index_tables(connection)))
        write(connection, events_of(400))
    search.update_index(connection, 2_000)
    found = hits_in(connection)
    clear(connection)
    search.update_index(connection)

    assert 1 < counts[0] < counts[1] < counts[2]
    assert hits_in(connection) == found


def test_a_frequent_word_is_searched_in_the_latest_parts_alone(connection: sqlite3.Connection) -> None:
    search.update_index(connection, 2_000)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)

    assert len(search.search(connection, "f")) == search.MAX_HITS
    asked = [name for name in index_tables(connection) if any(f"{name}.rowid" in one for one in statements)]
    assert asked == index_tables(connection)[-len(asked) :]
    assert len(asked) < len(index_tables(connection))


def test_a_part_that_no_list_names_is_dropped_in_steps_and_the_index_made_again(connection: sqlite3.Connection) -> None:
    connection.executescript(UNLISTED)
    numbers = f"WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < {100 + 3 * search.CLEARED})"
    connection.execute(f"INSERT INTO words_7_data SELECT i, x'00' FROM ({numbers} SELECT i FROM n)")
    deleted: list[int] = []
    before = connection.total_changes

    def note(statement: str) -> None:
        nonlocal before
        if statement.startswith(("BEGIN", "COMMIT")):
            deleted.append(connection.total_changes - before)
            before = connection.total_changes

    connection.set_trace_callback(note)
    search.update_index(connection)

    assert sum(deleted) > 3 * search.CLEARED
    assert max(deleted) <= search.CLEARED + 10
    assert index_tables(connection) == ["words_1"]
    assert search.search(connection, "zebra") == []
    assert len(search.search(connection, "f")) == search.MAX_HITS


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("statement", FORGED)
def test_a_forged_index_is_made_again(connection: sqlite3.Connection, statement: str) -> None:
    search.update_index(connection, 2_000)
    expected = hits_in(connection)
    connection.executescript(f"DROP TABLE searchable; {statement}" if statement == UNLISTED else statement)

    search.update_index(connection, 2_000)

    assert hits_in(connection) == expected
    assert "words_999" not in index_tables(connection)
    clear(connection)
    assert index_tables(connection) == []


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("statement", BROKEN)
def test_a_part_without_its_data_is_reported(tmp_path: Path, statement: str) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    book.execute(lambda connection: write(connection, events_of(100)))
    book.execute(lambda connection: search.update_index(connection, 500))
    book.execute(lambda connection: connection.execute(statement))
    book.close()

    with pytest.raises(
        JournalError, match=r"cannot be read \((vtable constructor failed|database disk image is malfor)"
    ):
        book.read(lambda connection: search.search(connection, "none"))
    book.close()


def test_an_index_of_events_that_were_deleted_since_is_made_again(connection: sqlite3.Connection) -> None:
    search.update_index(connection, 2_000)
    connection.execute("DELETE FROM events")
    write(connection, iter([Notice("nothing"), TurnStarted("t", "m", user("fox"), 1.0)]))
    search.update_index(connection, 2_000)

    assert [hit.snippet for hit in search.search(connection, "f")] == ["fox"]


def test_a_search_without_an_index_says_so(connection: sqlite3.Connection) -> None:
    search.update_index(connection)
    next(search.clear_index(connection))

    with pytest.raises(JournalError, match="changed meanwhile") as raised:
        search.search(connection, "fox")
    assert raised.value.fix.startswith("Search again")
    assert not connection.in_transaction


def test_a_search_reads_one_state_of_an_index_that_is_made_again_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(schema.connect(path)) as writer, closing(schema.open_to_read(path)) as reader:
        write(writer, events_of(400))
        search.update_index(writer, 2_000)
        expected = search.search(reader, "foxg")
        sizes = iter([500])

        def make_again(statement: str) -> None:
            for size in sizes if ".rowid" in statement else ():
                clear(writer)
                search.update_index(writer, size)

        reader.set_trace_callback(make_again)
        found = search.search(reader, "foxg")

        assert list(sizes) == []
        assert found == expected == search.search(reader, "foxg")


def test_several_connections_index_one_journal_at_the_same_time(tmp_path: Path) -> None:
    books = [Journal(tmp_path / "journal.sqlite") for _ in range(3)]
    books[0].execute(lambda connection: write(connection, events_of(400)))

    def use(book: Journal) -> None:
        book.execute(lambda connection: search.update_index(connection, 500))

    def clear_and_use() -> None:
        books[2].execute(clear)
        use(books[2])

    threads = [threading.Thread(target=use, args=(book,)) for book in books[:2]]
    threads.append(threading.Thread(target=clear_and_use))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = books[0].read(hits_in)
    books[1].execute(clear)
    books[1].execute(search.update_index)

    assert books[1].read(hits_in) == found
    for book in books:
        book.close()


def test_a_part_is_full_with_its_last_character() -> None:
    connection = schema.connect(None)
    write(connection, (TurnStarted(word, "m", user(word), 1.0) for word in ("fox", "dog")))
    search.update_index(connection)
    ((size,),) = connection.execute("SELECT characters FROM searchable").fetchall()
    clear(connection)

    search.update_index(connection, size // 2)

    assert [row[0] for row in connection.execute("SELECT upto FROM searchable ORDER BY part")][:2] == [1, 2]
    connection.close()
