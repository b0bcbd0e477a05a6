"""What a process could not write before it ended, and journals that nobody uses any more."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal, process_journal
from nbtool.chat.journal.database import Store
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.sidecar import MARK, write_sidecar
from nbtool.events import Notice
from tests.chat.journal.holding import held_by_another_process


def written(book: Journal, *events: Notice) -> list[dict[str, object]]:
    asyncio.run(book.write("c", "t", events))
    return book.events("t")


WRITE = """
import asyncio, sys, warnings
from nbtool.chat.journal import journal
from nbtool.events import Notice
warnings.simplefilter("ignore")
for text in sys.argv[1:]:
    asyncio.run(journal().write("c", "t", [Notice(text)]))
print("recorded", flush=True)
"""


def write_in_another_process(home: Path, *texts: str) -> subprocess.Popen[str]:
    kernel = subprocess.Popen(
        [sys.executable, "-c", WRITE, *texts],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "NBTOOL_HOME": str(home)},
        text=True,
    )
    assert kernel.stdout is not None
    assert kernel.stdout.readline() == "recorded\n"
    return kernel


def sidecars(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.name}{MARK}*"))


@pytest.mark.sampled(0)
@pytest.mark.promise("goes-on")
def test_what_a_locked_file_could_not_take_before_the_process_ended_is_kept_beside_it_and_read_in_by_the_next_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.sqlite"
    written(Journal(path), Notice("before"))
    with held_by_another_process(path):
        _, said = write_in_another_process(tmp_path, "while", "and while").communicate(timeout=240)
        (left,) = sidecars(path)
        rights = stat.S_IMODE(left.stat().st_mode)
    write_in_another_process(tmp_path, "after").communicate(timeout=240)

    expected = (
        f"2 records could not be written to $NBTOOL_HOME/{path.name}; they are saved in {left.name}, which the next"
    )
    assert said == f"nbtool: {expected} process imports.\n"
    assert rights == 0o600
    assert not sidecars(path)
    assert [event["text"] for event in Journal(path).events("t")] == ["before", "while", "and while", "after"]


def test_a_process_that_is_killed_while_it_waits_for_a_locked_file_at_its_end_has_left_what_it_had(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.sqlite"
    written(Journal(path), Notice("before"))
    with held_by_another_process(path):
        kernel = write_in_another_process(tmp_path, "while")
        while not any(one.name.rpartition(MARK)[2].isalnum() for one in sidecars(path)):
            with suppress(subprocess.TimeoutExpired):
                assert kernel.wait(0.01) is None
        kernel.kill()
        kernel.communicate()

    assert [event["text"] for event in Journal(path).events("t")] == ["before", "while"]


def test_what_came_into_the_journal_and_into_a_sidecar_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    rows = [[Row(float(n), "c", "t", "notice", json.dumps({"kind": "notice", "text": str(n)}))] for n in range(3)]
    first, second = Store(path), Store(path)
    first.write(rows[0]).result(240)
    second.expect_sidecar()
    for _ in range(2):
        write_sidecar(path, "notebook.ipynb", rows[:2])
    book = Journal(path)
    before = [event["text"] for event in book.events("t")]
    for row in (*rows, []):
        second.write(row).result(240)

    assert before == ["0", "1"]
    assert [event["text"] for event in book.events("t")] == ["0", "1", "2"]
    assert not sidecars(path)
    assert book.read(lambda connection: connection.execute("SELECT notebook FROM chats").fetchall()) == [("",)]


def test_without_a_sidecar_equal_events_are_each_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    for _ in range(2):
        store.write([Row(1.0, "c", "t", "notice", '{"kind": "notice"}')]).result(240)

    assert store.read(lambda connection: connection.execute("SELECT count(*) FROM events").fetchone(), seconds=10) == (
        2,
    )
    assert not store.is_locked


def test_a_sidecar_that_is_damaged_or_half_written_is_left_and_the_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    damaged, half = path.with_name(f"{path.name}{MARK}0a"), path.with_name(f"{path.name}{MARK}0b.part")
    for one in (damaged, half):
        one.write_bytes(b"no database" * 100)
    dangling = path.with_name(f"{path.name}{MARK}0c")
    dangling.symlink_to(tmp_path / "imported by another process")
    saved = Row(1.0, "c", "t", "notice", json.dumps({"kind": "notice", "text": "saved"}))
    write_sidecar(path, "", [[saved]]).rename(path.with_name(f"{path.name}{MARK}ff"))
    book = Journal(path)
    with pytest.warns(UserWarning, match=f"{damaged.name} of the journal cannot be read") as warned:
        events = written(book, Notice("goes on"))

    assert [event["text"] for event in events] == ["saved", "goes on"]
    assert book.path == path
    assert len(warned) == 1
    assert {damaged, half, dangling} == set(sidecars(path))


def test_a_slow_disk_is_reported_once_however_often_it_is_slow(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book, store = Journal(path, wait_seconds=0.05), Store(path)
    book._store = store

    def write_slowly(*texts: str) -> None:
        answers = threading.Event()
        store.change(lambda _: answers.wait())
        for text in texts:
            asyncio.run(book.write("c", "t", [Notice(text)]))
        answers.set()
        book.catch_up(10)

    with pytest.warns(UserWarning, match="responds slowly") as warned:
        write_slowly("one", "two")
    write_slowly("three")  # a second warning would be an error

    assert len(warned) == 1
    assert [event["text"] for event in book.events("t")] == ["one", "two", "three"]


def test_what_a_disk_that_does_not_answer_takes_no_more_is_reported_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, answers = tmp_path / "journal.sqlite", threading.Event()
    book, store = Journal(path, wait_seconds=0.1), Store(path)
    book._store = store
    hanging = store.change(lambda _: answers.wait())
    with pytest.warns(UserWarning, match="responds slowly"):
        asyncio.run(book.write("c", "t", [Notice("lost")]))
    book.finish(seconds=0.1)
    said = capsys.readouterr().err
    answers.set()
    hanging.result(240)

    assert said.count("\n") == 1
    assert all(part in said for part in ("1 record ", str(path)))
    assert not sidecars(path)


def test_a_sidecar_that_the_exit_wrote_is_deleted_if_the_file_was_unlocked_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "journal.sqlite"
    written(Journal(path), Notice("before"))
    book = Journal(path)
    with held_by_another_process(path):
        with pytest.warns(UserWarning, match="is locked"):
            asyncio.run(book.write("c", "t", [Notice("while")]))
        end = threading.Thread(target=process_journal.finish_all)
        end.start()
        while not any(one.name.rpartition(MARK)[2].isalnum() for one in sidecars(path)):
            end.join(0.01)
    end.join(240)

    assert not sidecars(path)
    assert capsys.readouterr().err == ""
    assert [event["text"] for event in book.events("t")] == ["before", "while"]


def test_events_of_a_locked_file_are_reported_as_lost_if_no_sidecar_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{'j' * 230}.sqlite"  # the name of its sidecar would be too long
    written(Journal(path), Notice("before"))
    book = Journal(path, wait_seconds=0.1)
    with held_by_another_process(path):
        with pytest.warns(UserWarning, match="responds slowly|is locked"):
            asyncio.run(book.write("c", "t", [Notice("while")]))
        book.finish(seconds=0.1)
    said = capsys.readouterr().err
    book.catch_up(20)

    assert all(part in said.splitlines()[-1] for part in ("1 record ", str(path)))


def test_a_sidecar_is_imported_when_the_journal_is_unlocked(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    written(Journal(path), Notice("before"))
    write_sidecar(path, "", [[Row(1.0, "c", "t", "notice", json.dumps({"kind": "notice", "text": "left"}))]])
    book = Journal(path)
    with held_by_another_process(path), pytest.warns(UserWarning, match="is locked"):
        asyncio.run(book.write("c", "t", [Notice("while")]))
    book.catch_up(20)

    assert [event["text"] for event in book.events("t")] == ["before", "left", "while"]
    assert not sidecars(path)


def test_events_that_a_slow_file_refuses_later_are_kept_in_memory(tmp_path: Path) -> None:
    path, answers = tmp_path / "journal.sqlite", threading.Event()
    written(Journal(path), Notice("before"))
    book, store = Journal(path, wait_seconds=0.1), Store(path)
    book._store = store

    def break_file(connection: sqlite3.Connection) -> None:
        answers.wait()
        connection.execute("DROP TABLE events")

    breaking = store.change(break_file)
    with pytest.warns(UserWarning, match="responds slowly"):
        asyncio.run(book.write("c", "t", [Notice("late")]))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        answers.set()
        breaking.result(240)
        store.close().result(240)

    assert [event["text"] for event in book.events("t")] == ["late"]
    assert any("no such table: events" in str(one.message) for one in warned)
    assert book.path is None


def open_files(folder: Path) -> list[Path]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(link.readlink())
    return [one for one in found if folder in one.parents]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed in /proc")
def test_journals_that_nobody_uses_any_more_keep_no_file_open_and_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    for number in range(50):
        written(Journal(tmp_path / f"{number}.sqlite"), Notice("once"))
    gc.collect()
    for thread in set(threading.enumerate()) - before:
        if thread.name == "nbtool-journal":
            thread.join(240)

    assert open_files(tmp_path) == []
    assert not [one for one in set(threading.enumerate()) - before if one.name == "nbtool-journal"]
    assert [len(Journal(tmp_path / f"{number}.sqlite").events("t")) for number in range(50)] == [1] * 50
