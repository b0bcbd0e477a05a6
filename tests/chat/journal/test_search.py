from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, search
from nbtool.errors import JournalError
from nbtool.events import CallFinished, CallReady, Notice, ReplyFinished, TurnStarted
from nbtool.messages import Usage, assistant, user


def book_of(path: Path, *events: object) -> Journal:
    book = Journal(path)
    asyncio.run(book.write("c", "t", events))  # type: ignore[arg-type]  # events of these tests
    return book


def search_hits(book: Journal, text: str) -> list[tuple[str, str]]:
    book.execute(search.update_index)
    return [(one.what, one.snippet) for one in book.read(lambda connection: search.search(connection, text))]


def test_prompts_replies_calls_and_results_are_found(tmp_path: Path) -> None:
    book = book_of(
        tmp_path / "journal.sqlite",
        TurnStarted("t", "m", user("Which fox is quick?"), 1.0),
        CallReady("c1", "find_fox", 1, '{"colour": "brown"}'),
        CallFinished("c1", "find_fox", 1, "ok", "the lazy dog"),
        ReplyFinished(1, assistant("None is. " * 300 + "Ask the Dachshund."), "end", Usage(), True),
        Notice("not searched: fox"),
    )

    assert [what for what, _ in search_hits(book, "fox")] == ["result", "call", "prompt"]
    assert search_hits(book, "BROWN") == [("call", 'find_fox\n{"colour": "brown"}')]
    assert search_hits(book, "lazy do")[0][0] == "result"
    assert "Dachshund." in search_hits(book, "dachs")[0][1]
    assert search_hits(book, "fox dachshund") == []


def test_a_search_finds_what_is_behind_the_first_batch(tmp_path: Path) -> None:
    prompts = [TurnStarted("t", "m", user(f"fox{number}"), 1.0) for number in range(search.BATCH + 1)]
    book = book_of(tmp_path / "journal.sqlite", *prompts)

    assert search_hits(book, f"fox{search.BATCH}") == [("prompt", f"fox{search.BATCH}")]


@pytest.mark.parametrize("text", ["数据", "分析", "数据分析", "analyse 数据"])
def test_words_of_scripts_without_spaces_are_found(tmp_path: Path, text: str) -> None:
    book = book_of(tmp_path / "journal.sqlite", TurnStarted("t", "m", user("请帮我做数据分析 (analyse)"), 1.0))

    assert [what for what, _ in search_hits(book, text)] == ["prompt"]
    assert search_hits(book, "析分") == []


@pytest.mark.parametrize("text", ['"', "fox OR dog", "NEAR(fox)", "fox*)", "-fox", 'a"b', "text:fox", "fox\x00"])
def test_a_search_is_words_and_no_language(tmp_path: Path, text: str) -> None:
    book = book_of(tmp_path / "journal.sqlite", Notice("nothing"))

    if any(letter.isalnum() for letter in text):
        assert search_hits(book, text) == []
    else:
        with pytest.raises(JournalError, match="no word"):
            search_hits(book, text)


def test_what_is_written_after_a_search_is_found_by_the_next(tmp_path: Path) -> None:
    book = book_of(tmp_path / "journal.sqlite", TurnStarted("t", "m", user("fox"), 1.0))
    first = search_hits(book, "fox")
    asyncio.run(book.write("c", "t2", [TurnStarted("t2", "m", user("fox again"), 1.0)]))

    assert (len(first), len(search_hits(book, "fox"))) == (1, 2)


def test_a_search_gives_no_more_than_its_bound(tmp_path: Path) -> None:
    events = [CallFinished(f"c{number}", "f", 1, "ok", "fox " * 500) for number in range(search.MAX_HITS * 3)]
    book = book_of(tmp_path / "journal.sqlite", *events)

    pieces = search_hits(book, "fox")
    assert len(pieces) == search.MAX_HITS
    assert max(len(snippet) for _, snippet in pieces) <= search.SNIPPET + 2


def test_an_event_that_is_not_as_its_kind_says_is_not_found_and_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    book = book_of(
        tmp_path / "journal.sqlite", CallReady("c1", "find_fox", 1, "{}"), CallReady("c2", "lose_fox", 1, "{}")
    )
    book.execute(
        lambda connection: connection.execute("UPDATE events SET body = json_set(body, '$.name', 5) WHERE seq = 1")
    )

    assert search_hits(book, "fox") == [("call", "lose_fox\n{}")]
