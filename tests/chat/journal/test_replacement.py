"""A journal whose file is deleted or replaced while kernels use it, on the real file system."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nbtool.chat.journal import Journal
from nbtool.chat.journal.replacement import OpenFile, unfinished_rows
from nbtool.chat.journal.schema import open_to_read
from nbtool.errors import JournalError
from nbtool.events import Notice, TurnEnded, TurnStarted
from nbtool.messages import Usage, user

OTHER_KERNEL = """
import asyncio, sys, warnings
from pathlib import Path
from nbtool.chat.journal import Journal
from nbtool.events import Notice

book = Journal(Path(sys.argv[1]))
for line in sys.stdin:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(book.write("other", "u", [Notice(line.strip())]))
    print("; ".join(str(one.message) for one in said), flush=True)
"""


class Kernel:
    """Another process that writes to the journal."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def write(self, text: str) -> str:
        """Write a notice; return the warnings."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def another_kernel(path: Path) -> Iterator[Kernel]:
    command = [sys.executable, "-c", OTHER_KERNEL, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Kernel(process)
        finally:
            process.kill()


def write(book: Journal, *texts: str, turn_id: str = "t") -> None:
    asyncio.run(book.write("c", turn_id, [Notice(text) for text in texts]))


def texts(book: Journal, turn_id: str = "t") -> list[str]:
    return [event["text"] for event in book.events(turn_id)]


def texts_on_disk(path: Path) -> list[str]:
    """Read a journal as a later process does."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        query = "SELECT json_extract(body, '$.text') FROM events ORDER BY seq"
        return [text for (text,) in connection.execute(query).fetchall()]


def delete(path: Path, *ends: str) -> None:
    for end in ends:
        path.with_name(path.name + end).unlink()


@pytest.mark.promise("goes-on")
@pytest.mark.promise("written-first")
@pytest.mark.parametrize("ends", [[""], ["", "-wal"], ["", "-shm"], ["", "-wal", "-shm"]], ids="+".join)
def test_a_deleted_file_is_reported_and_the_turn_goes_on_in_a_new_one(tmp_path: Path, ends: list[str]) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write(book, "one")
    delete(path, *ends)

    with pytest.warns(UserWarning, match="was deleted while in use: the earlier history is no longer in it") as warned:
        write(book, "two")
    write(book, "three")  # a second warning would be an error

    assert len(warned) == 1
    assert book.path == path
    assert texts(book) == texts_on_disk(path) == ["one", "two", "three"]


def test_each_deletion_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write(book, "one")
    for _ in range(3):
        delete(path, "")
        with pytest.warns(UserWarning, match="was deleted while in use"):
            write(book, "more")

    assert texts_on_disk(path) == ["one", "more", "more", "more"]


def test_a_turn_that_has_ended_is_not_copied_and_long_texts_of_the_others_are(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    ended = TurnEnded("completed", "done", Usage(), 1, 0, 1.0)
    asyncio.run(book.write("c", "before", [TurnStarted("before", "m", user("erase me"), 1.0), ended]))
    write(book, "long " * 1_000)
    delete(path, "", "-wal", "-shm")

    with pytest.warns(UserWarning, match="was deleted"):
        write(book, "two")

    assert texts(book) == ["long " * 1_000, "two"]
    assert book.events("before") == []


@pytest.mark.promise("goes-on")
def test_a_deletion_is_noticed_when_history_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write(book, "one")
    delete(path, "")

    with pytest.warns(UserWarning, match="was deleted"):
        assert texts(book) == ["one"]
    assert texts(book) == ["one"]  # a second warning would be an error


@pytest.mark.promise("goes-on")
@pytest.mark.promise("killed-kernel")
@pytest.mark.parametrize("ends", [[""], ["", "-wal"], ["", "-wal", "-shm"]], ids="+".join)
def test_two_kernels_whose_file_is_deleted_meet_in_one_new_file_with_a_third(tmp_path: Path, ends: list[str]) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write(book, "one")
    with another_kernel(path) as second, another_kernel(path) as third:
        assert second.write("two") == ""
        delete(path, *ends)
        assert third.write("three") == ""  # it opens the journal now: nothing was deleted under it
        assert "was replaced" in second.write("four")
        with pytest.warns(UserWarning, match="was replaced while in use"):
            write(book, "five")
        assert [third.write("six"), second.write("seven")] == ["", ""]
        for kernel in (second, third):
            kernel.process.send_signal(signal.SIGKILL)
            kernel.process.wait()

    assert texts_on_disk(path) == ["three", "two", "four", "one", "five", "six", "seven"]


@pytest.mark.promise("goes-on")
def test_another_journal_in_its_place_is_continued_without_the_log_of_the_former(tmp_path: Path) -> None:
    path, other = tmp_path / "journal.sqlite", tmp_path / "other.sqlite"
    restored = Journal(other)
    write(restored, "restored", turn_id="r")
    restored.close()
    book = Journal(path)
    write(book, "one")
    delete(path, "-wal", "-shm")
    other.rename(path)

    with pytest.warns(UserWarning, match="was replaced while in use"):
        write(book, "two")

    assert (texts(book, "r"), texts(book)) == (["restored"], ["one", "two"])


def test_a_copy_of_the_journal_in_its_place_holds_nothing_twice(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal.sqlite", tmp_path / "copy.sqlite"
    book = Journal(path)
    write(book, "one", "long " * 1_000)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    delete(path, "", "-wal", "-shm")
    copy.rename(path)

    with pytest.warns(UserWarning, match="was replaced"):
        write(book, "two")

    assert texts(book) == ["one", "long " * 1_000, "two"]


@pytest.mark.promise("goes-on")
def test_another_file_beside_the_log_of_the_former_is_left_as_it_is(tmp_path: Path) -> None:
    path, other = tmp_path / "journal.sqlite", tmp_path / "other.sqlite"
    restored = Journal(other)
    write(restored, "restored", turn_id="r")
    restored.close()
    book = Journal(path)
    write(book, "one")
    other.rename(path)
    before = path.read_bytes()

    with pytest.warns(UserWarning, match="deleted or replaced while in use.*; history stays in memory"):
        write(book, "two")

    assert book.path is None
    assert path.read_bytes() == before


@pytest.mark.promise("goes-on")
def test_a_deleted_log_is_reported_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write(book, "one")
    delete(path, "-wal")

    with pytest.warns(UserWarning, match="journal.sqlite-wal, was deleted or replaced while in use"):
        write(book, "two")
    write(book, "three")

    assert texts(book) == ["one", "two", "three"]
    assert texts_on_disk(path) == ["one"]


def test_a_change_of_a_file_whose_log_was_deleted_says_why_it_fails(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    write(book, "one")
    delete(tmp_path / "journal.sqlite", "-wal")

    with pytest.raises(JournalError, match=r"journal.sqlite-wal, was deleted or replaced"):
        book.execute(lambda connection: connection.execute("SELECT 1"))


@pytest.mark.promise("goes-on")
def test_a_deleted_folder_leaves_history_in_memory(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    book = Journal(folder / "journal.sqlite")
    write(book, "one")
    shutil.rmtree(folder)

    with pytest.warns(UserWarning, match="cannot be written .*; history stays in memory"):
        write(book, "two")

    assert texts(book) == ["two"]
    assert not folder.exists()


def test_what_is_left_of_a_deleted_journal_is_private_and_does_not_block_a_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    path = folder / "journal.sqlite"
    former = Journal(path)
    write(former, "one")
    delete(path, "")
    write(Journal(path), "new")

    assert texts_on_disk(path) == ["new"]
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("former", "present", "change"),
    [
        (OpenFile((1, 2), None), OpenFile((1, 2), None), "unchanged"),
        (OpenFile((1, 2), None), OpenFile((1, 2), (1, 3)), "unchanged"),
        (OpenFile((1, 2), (1, 3)), OpenFile((1, 2), None), "mixed"),
        (OpenFile((1, 2), (1, 3)), OpenFile((1, 2), (1, 4)), "mixed"),
        (OpenFile((1, 2), (1, 3)), OpenFile((9, 2), (1, 3)), "mixed"),
        (OpenFile((1, 2), (1, 3)), OpenFile((1, 5), (1, 4)), "replaced"),
        (OpenFile((1, 2), None), OpenFile((1, 5), None), "replaced"),
        (OpenFile((1, 2), (1, 3)), OpenFile(None, (1, 3)), "deleted"),
        (OpenFile((1, 2), (1, 3)), OpenFile(None, None), "deleted"),
    ],
)
def test_what_happened_follows_from_the_files_alone(former: OpenFile, present: OpenFile, change: str) -> None:
    assert former.change_to(present) == change


def test_a_deleted_file_that_cannot_be_read_gives_nothing() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert unfinished_rows(connection, ["c"]) == []


def test_no_file_at_a_path_is_no_error(tmp_path: Path) -> None:
    assert OpenFile.at(tmp_path / "none" / "journal.sqlite") == OpenFile(None, None)
    (tmp_path / "journal.sqlite").touch()
    found = (tmp_path / "journal.sqlite").stat()
    assert OpenFile.at(tmp_path / "journal.sqlite") == OpenFile((found.st_dev, found.st_ino), None)


def killed(path: Path, *texts: str) -> None:
    """Write to a journal in a process that is killed, so that its log stays."""
    with another_kernel(path) as kernel:
        for text in texts:
            kernel.write(text)
        kernel.process.kill()
        kernel.process.wait()
    assert path.with_name(f"{path.name}-wal").stat().st_size


@pytest.mark.promise("goes-on")
@pytest.mark.parametrize("is_copy", [True, False], ids=["an older copy", "another journal"])
def test_a_new_kernel_does_not_mix_a_file_that_was_moved_beside_the_log_of_another(
    tmp_path: Path, *, is_copy: bool
) -> None:
    path, other = tmp_path / "journal.sqlite", tmp_path / "backup.sqlite"
    book = Journal(path if is_copy else other)
    write(book, "earlier")
    book.close()
    if is_copy:
        shutil.copy(path, other)
    killed(path, *(f"later {number} {'x' * 5_000}" for number in range(20)))
    other.replace(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    later = Journal(path)
    with pytest.warns(UserWarning, match="beside the log of the former one") as said:
        write(later, "new")
    with pytest.raises(JournalError, match="beside the log of the former one"):
        open_to_read(path)

    assert len(said) == 1
    assert texts(later) == ["new"]
    assert {name: data for name, data in before.items() if name != "journal.sqlite-shm"}.items() <= {
        file.name: file.read_bytes() for file in tmp_path.iterdir()
    }.items()
    later.close()

    delete(path, "-wal", "-shm")  # as the message says
    last = Journal(path)
    write(last, "last")
    last.close()
    assert texts_on_disk(path) == ["earlier", "last"]


def test_a_log_that_a_killed_kernel_left_is_read_where_its_folder_was_copied_to(tmp_path: Path) -> None:
    path = tmp_path / "one" / "journal.sqlite"
    path.parent.mkdir()
    killed(path, "written")
    shutil.copytree(path.parent, tmp_path / "two")

    assert texts(Journal(path), "u") == texts(Journal(tmp_path / "two" / path.name), "u") == ["written"]


@pytest.mark.parametrize("record", [b"", b"x y", b"1", b"1 2 3", b"9" * 200, b"\xff\x00"])
def test_a_record_that_says_nothing_is_ignored(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "journal.sqlite"
    killed(path, "written")
    path.with_name("journal.sqlite-owner").write_bytes(record)

    assert texts(Journal(path), "u") == ["written"]


def test_a_log_that_was_created_after_the_file_was_opened_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    path, look = tmp_path / "journal.db", OpenFile.at
    without_log: list[Path] = []

    def look_before_the_log(path: Path) -> OpenFile:
        if without_log:
            return look(path)
        without_log.append(path)
        return OpenFile(look(path).database, None)

    monkeypatch.setattr(OpenFile, "at", look_before_the_log)
    book = Journal(path)
    for text in ("first", "second", "third"):
        asyncio.run(book.write("c", "t", [Notice(text)]))
    book.close()

    assert without_log == [path]
    assert [str(one.message) for one in recwarn] == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (3,)
