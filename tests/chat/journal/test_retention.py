from __future__ import annotations

import asyncio
import subprocess
import sys
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
    book._store.write(rows).result(240)


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


WRITE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
for line in sys.stdin:
    try:
        connection.execute("INSERT INTO events VALUES (NULL, 1e12, 'c', 'other', 'x', '{}')")
        print("written", flush=True)
    except sqlite3.OperationalError as error:
        print(error, flush=True)
"""

KILL = """
import itertools, os, sys
from pathlib import Path
from nbtool.chat.journal import Journal, retention
slices = itertools.count(1)
def end(seconds):
    if next(slices) == int(sys.argv[2]):
        os._exit(9)
Journal(Path(sys.argv[1])).execute(
    lambda connection: retention.vacuum(connection, retention.Retention(days=30, megabytes=0.5), between=end)
)
"""


def write_many(book: Journal) -> None:
    """Write 250 old turns, 250 new ones, and a delta that was written twice, and index them."""
    rows = []
    for number in range(500):
        turn_id = f"t{number:03}"
        events: list[Event] = [
            prompt(turn_id, f"{turn_id} " * 300),
            TextDelta(turn_id),
            prompt(turn_id, "shared " * 300),
        ]
        if number == 499:
            events.append(ReplyFinished(1, assistant("Hello"), "end", Usage(), True))
        at = time.time() - (40 if number < 250 else 1) * DAY
        rows += [Row(at, f"c{number // 100}", turn_id, event.kind, dump_event(event)) for event in events]
    book._store.write(rows).result(240)
    book.execute(search.update_index)


def test_another_process_writes_after_every_slice_of_a_vacuum(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_many(book)
    command = [sys.executable, "-c", WRITE, str(book.path)]
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        ask, answers = other.stdin, other.stdout

        def write_elsewhere(_: float) -> None:
            ask.write("\n")
            said.append(answers.readline().strip())

        limits = retention_module.Retention(days=30, megabytes=0.5)
        swept = book.execute(lambda connection: retention_module.vacuum(connection, limits, between=write_elsewhere))
        ask.close()

    assert said == ["written"] * len(said)
    assert len(said) >= 8  # three slices by age, one of deltas, some by size, two of the index, one of free pages
    assert len(book.events("other")) == len(said)
    assert swept.turns > 250
    assert swept.free == 0
    assert swept.after < swept.before / 2


@pytest.mark.promise("killed-kernel")
@pytest.mark.parametrize("slice_", [1, 4, 6])
def test_a_vacuum_that_is_killed_between_two_slices_leaves_whole_turns_and_the_next_ends_it(
    tmp_path: Path, slice_: int
) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_many(book)
    book.close()

    killed = subprocess.run([sys.executable, "-c", KILL, str(book.path), str(slice_)], check=False, timeout=240)

    assert killed.returncode == 9
    left = [line.turn_id for line in book.read(queries.list_turns)]
    assert 0 < len(left) < 500
    assert left == [f"t{number:03}" for number in range(500 - len(left), 500)]
    for turn_id in left:
        first, *_, last = (event for event in book.events(turn_id) if event["kind"] == "turn_started")
        assert first["prompt"]["parts"][0]["text"] == f"{turn_id} " * 300
        assert last["prompt"]["parts"][0]["text"] == "shared " * 300
    contents = "SELECT count(*), (SELECT count(DISTINCT hash) FROM places) FROM contents"
    assert book.execute(lambda connection: connection.execute(contents).fetchone()) == (len(left) + 1,) * 2

    swept = vacuum(book, days=30, megabytes=0.5)
    book.execute(search.update_index)
    assert swept.after <= 500_000
    assert book.execute(lambda connection: connection.execute("PRAGMA integrity_check").fetchall()) == [("ok",)]
    hits = book.read(lambda connection: search.search(connection, "shared"))
    assert {hit.turn_id for hit in hits} <= {line.turn_id for line in book.read(queries.list_turns)}


def test_a_turn_that_went_on_since_it_was_listed_is_kept(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write_events(book, "t1", prompt("t1", "one"), prompt("t1", "two"))

    listed = [("t1", 1), ("t2", 2), ("t3", 3)]
    assert book.execute(lambda connection: retention_module._drop_turns(connection, listed)) == 0
    assert book.execute(lambda connection: retention_module._drop_turns(connection, [("t1", 2)])) == 1


def test_a_pause_after_a_slice_is_as_long_as_the_slice_and_bounded() -> None:
    times = iter([0.0, 0.02, 1.0, 9.0, 9.0])
    pauses: list[float] = []

    assert retention_module._run([3, 4], pauses.append, clock=lambda: next(times)) == 7
    assert pauses == [0.02, retention_module.MAX_PAUSE]


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
