from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.journal import WAIT_SECONDS, Journal, journal, queries
from nbtool.chat.journal.database import CHANGE_SECONDS, Store
from nbtool.chat.journal.row import Row
from nbtool.chat.journal.schema import BUSY_SECONDS
from nbtool.chat.journal.storage import is_in_memory
from nbtool.errors import JournalError
from nbtool.events import Notice, TurnStarted
from nbtool.messages import user
from nbtool.testing import ScriptedWire
from tests.chat.journal.holding import held_by_another_process
from tests.policy.in_force import policy_in_force

Tell = Callable[[str, object], None]


def write_events(book: Journal, *events: object, turn_id: str = "t") -> list[dict[str, object]]:
    asyncio.run(book.write("c", turn_id, events))  # type: ignore[arg-type]  # events of these tests
    return book.events(turn_id)


def test_events_are_read_back_in_their_order_as_plain_data(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")

    assert [event["text"] for event in write_events(book, Notice("one"), Notice("two"))] == ["one", "two"]
    assert book.events("another") == []


def test_what_was_written_is_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write_events(book, Notice("kept"))
    book.close()

    assert [event["text"] for event in Journal(path).events("t")] == ["kept"]


def test_the_files_and_their_folder_are_their_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    book = Journal(folder / "journal.sqlite")  # kept: SQLite removes two of the files when the last connection closes
    write_events(book, Notice("private"))

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes == dict.fromkeys(
        ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-owner"], 0o600
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_change_that_a_person_started_waits_longer_for_a_lock_than_a_turn(tmp_path: Path) -> None:
    def waits(connection: sqlite3.Connection) -> int:
        return int(connection.execute("PRAGMA busy_timeout").fetchone()[0])

    store = Store(tmp_path / "journal.sqlite")
    connection = store.change(lambda connection: connection).result(240)

    assert store.change(waits).result(240) == 1_000 * CHANGE_SECONDS
    store.write([]).result(240)
    assert waits(connection) == 1_000 * BUSY_SECONDS


def test_a_folder_with_other_things_in_it_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "project.py").touch()
    write_events(Journal(tmp_path / "journal.sqlite"), Notice("private"))

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "journal.sqlite").stat().st_mode) == 0o600


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.touch(0o644)
    write_events(Journal(path), Notice("private"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_that_cannot_be_written_says_so_once_and_loses_nothing(tmp_path: Path) -> None:
    book = Journal(tmp_path / "no such folder" / "journal.sqlite")

    with pytest.warns(UserWarning, match="history stays in memory") as warned:
        write_events(book, Notice("one"))
    write_events(book, Notice("two"))  # a second warning would be an error

    assert len(warned) == 1
    assert [event["text"] for event in book.events("t")] == ["one", "two"]


def test_a_file_of_a_newer_format_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()

    with pytest.warns(UserWarning, match="newer nbtool"):
        write_events(Journal(path), Notice("new"))

    assert path.read_bytes() == before


def test_a_journal_that_was_given_up_keeps_no_thread(tmp_path: Path) -> None:
    path, before = tmp_path / "journal.sqlite", set(threading.enumerate())
    path.write_bytes(b"this is no database" * 100)
    book = Journal(path)
    with pytest.warns(UserWarning, match="not a database"):
        write_events(book, Notice("one"))
    write_events(book, Notice("two"))
    book.close()

    for thread in set(threading.enumerate()) - before:
        thread.join(240)
    assert set(threading.enumerate()) <= before


@pytest.mark.promise("goes-on")
def test_a_corrupt_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"this is no database" * 100)

    with pytest.warns(UserWarning, match="not a database"):
        write_events(Journal(path), Notice("new"))

    assert path.read_bytes() == b"this is no database" * 100


@pytest.mark.parametrize("steps", range(8))
def test_a_cancellation_that_comes_as_the_write_ends_is_not_swallowed(tmp_path: Path, steps: int) -> None:
    book = Journal(tmp_path / "journal.sqlite")

    async def is_swallowed() -> bool:
        recording = asyncio.ensure_future(book.write("c", "t", [Notice("one")]))
        await asyncio.sleep(0)
        book.events("t")  # waits for the writing thread: the write has ended, and the loop learns of it step by step
        for _ in range(steps):
            await asyncio.sleep(0)
        came_in_time = recording.cancel()
        await asyncio.wait({recording})
        return came_in_time and not recording.cancelled()

    assert not asyncio.run(is_swallowed())


class OutOfMemory(str):
    """A text for which SQLite finds no memory."""

    def __conform__(self, protocol: object) -> str:
        raise MemoryError


def test_an_error_that_is_not_of_the_disk_is_raised_and_the_file_kept_in_use(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    with pytest.raises(MemoryError):
        asyncio.run(book.write(OutOfMemory("c"), "lost", [Notice("too large")]))

    assert [event["text"] for event in write_events(book, Notice("next"))] == ["next"]
    assert book.path == tmp_path / "journal.sqlite"


def test_the_journal_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")
    journal.cache_clear()
    try:
        assert journal().path is None
    finally:
        journal.cache_clear()


@pytest.mark.parametrize(("storage", "setting", "in_memory"), [("memory", "", True), ("disk", "off", False)])
def test_the_policy_of_the_machine_says_where_history_is_kept(
    storage: str, setting: str, in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", setting)

    with policy_in_force(tmp_path, f'[journal]\nstorage = "{storage}"\n'):
        assert is_in_memory() is in_memory


@pytest.mark.promise("goes-on")
def test_a_file_that_another_process_holds_is_waited_for_two_seconds_and_written_when_it_is_free(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.sqlite"
    write_events(Journal(path), Notice("before"))
    book = Journal(path)
    with held_by_another_process(path):
        began = time.monotonic()
        with pytest.warns(UserWarning, match="history stays in memory until it is unlocked") as warned:
            asyncio.run(book.write("c", "t", [Notice("while")]))
        first = time.monotonic() - began
        for number in range(20):  # a second warning would be an error
            asyncio.run(book.write("c", "t", [Notice(str(number))]))
        others = time.monotonic() - began - first
    book.catch_up(20)
    asyncio.run(book.write("c", "t", [Notice("after")]))

    assert len(warned) == 1
    assert first < 5 * WAIT_SECONDS, "it is not waited for until the file is free"
    assert others < 5 * WAIT_SECONDS, "not each of the 20 waits"
    expected = ["before", "while", *map(str, range(20)), "after"]
    assert [event["text"] for event in Journal(path).events("t")] == expected
    assert [event["text"] for event in book.events("t")] == expected
    assert book.path == path


def test_more_than_may_wait_for_a_locked_file_goes_to_memory_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.sqlite"
    write_events(Journal(path), Notice("before"))
    book = Journal(path, max_behind=10_000)

    async def record() -> None:
        for number in range(20):
            await book.write("c", "t", [Notice(f"{number} {'x' * 900}")])

    with held_by_another_process(path), pytest.warns(UserWarning, match="history stays in memory") as warned:
        asyncio.run(record())

    assert ["is locked" in str(one.message) for one in warned] == [True, False]
    assert " MiB " in str(warned[1].message)
    assert [str(event["text"]).split()[0] for event in book.events("t")] == ["before", *map(str, range(20))]


def test_what_went_to_memory_while_a_slow_disk_had_it_is_not_written_to_the_file_as_well(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path, max_behind=2_000, wait_seconds=0.01)
    responds, is_blocked = threading.Event(), threading.Event()
    former = book._store

    def block(_: object) -> None:
        is_blocked.set()
        responds.wait(240)

    def record() -> None:
        for number in range(5):
            asyncio.run(book.write("c", "t", [Notice(f"{number} {'x' * 900}")]))

    blocked = former.change(block)
    assert is_blocked.wait(240)
    with pytest.warns(UserWarning, match="history stays in memory"):
        record()
    responds.set()
    blocked.result(240)
    former.close().result(240)

    assert [str(event["text"]).split()[0] for event in book.events("t")] == list("01234")
    assert Journal(path).events("t") == []


def test_a_disk_that_is_slow_twice_is_reported_once(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite", wait_seconds=0.01)

    def write_to_a_slow_disk_twice() -> None:
        for _ in range(2):
            write_to_a_slow_disk()

    def write_to_a_slow_disk() -> None:
        responds, is_blocked = threading.Event(), threading.Event()

        def block(_: object) -> None:
            is_blocked.set()
            responds.wait(240)

        blocked = book._store.change(block)
        assert is_blocked.wait(240)
        asyncio.run(book.write("c", "t", [Notice("x")]))
        responds.set()
        blocked.result(240)
        book._store.change(lambda _: None).result(240)  # behind what was written late

    with pytest.warns(UserWarning, match="responds slowly") as warned:
        write_to_a_slow_disk_twice()

    assert len(warned) == 1
    assert len(book.events("t")) == 2


def test_a_write_that_is_being_committed_when_the_file_is_abandoned_is_in_the_file_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal.sqlite")
    committing, goes_on = threading.Event(), threading.Event()
    decide = store._decide_to_commit

    def wait_then_decide(batch: list[Any]) -> None:
        decide(batch)
        committing.set()
        goes_on.wait(240)

    store._decide_to_commit = wait_then_decide  # type: ignore[method-assign]  # the moment between decision and commit
    row = Row(0.0, "c", "t", "notice", "{}")
    first = store.write([row])
    assert committing.wait(240)
    second = store.write([row])

    assert store.abandon() == {first}
    goes_on.set()

    assert first.exception(240) is None
    assert isinstance(second.exception(240), JournalError)


@pytest.mark.parametrize(("responds", "listed"), [(True, 1), (False, 2)])
def test_an_event_whose_commit_is_under_way_when_memory_is_full_is_listed_twice_only_if_the_disk_hangs(
    tmp_path: Path, responds: bool, listed: int
) -> None:
    book = Journal(tmp_path / "journal.sqlite", max_behind=100, wait_seconds=0.2)
    store, goes_on = book._store, threading.Event()
    decide, abandon = store._decide_to_commit, store.abandon

    def decide_and_wait(batch: list[Any]) -> None:
        decide(batch)
        goes_on.wait(240)

    def abandon_and_respond() -> set[Future[None]]:
        committing = abandon()
        if responds:
            goes_on.set()
        return committing

    store._decide_to_commit = decide_and_wait  # type: ignore[method-assign]  # the moment between decision and commit
    store.abandon = abandon_and_respond  # type: ignore[method-assign]  # the disk responds from now on
    with pytest.warns(UserWarning, match="history stays in memory"):
        asyncio.run(book.write("c", "t", [Notice("x" * 200)]))
    goes_on.set()
    store.close().result(240)

    assert len(book.events("t")) == listed


def test_a_process_that_ends_while_its_file_is_locked_waits_a_while_to_write_what_it_has(tmp_path: Path) -> None:
    script = """
import asyncio, sys, warnings
from nbtool.chat.journal import journal
from nbtool.events import Notice
warnings.simplefilter("ignore")
asyncio.run(journal().write("c", "t", [Notice("while")]))
print("recorded", flush=True)
"""
    path = tmp_path / "journal.sqlite"
    write_events(Journal(path), Notice("before"))
    with held_by_another_process(path):
        kernel = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "NBTOOL_HOME": str(tmp_path)}
        )
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == b"recorded\n"
    kernel.communicate(timeout=240)

    assert [event["text"] for event in Journal(path).events("t")] == ["before", "while"]


VACUUM = """
import asyncio, sys
from pathlib import Path
from nbtool.chat.journal import Journal, retention
book = Journal(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    book.execute(lambda connection: retention.vacuum(connection, retention.Retention()))
"""


@pytest.mark.promise("goes-on")
def test_the_vacuum_of_one_kernel_costs_another_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    for number in range(200):
        asyncio.run(book.write("c", "old", [Notice(f"{number} " + os.urandom(20_000).hex())]))
    with warnings.catch_warnings(), subprocess.Popen([sys.executable, "-c", VACUUM, str(path), "20"]) as vacuum:
        warnings.simplefilter("ignore")
        number = 0
        while vacuum.poll() is None:
            asyncio.run(book.write("c", "t", [Notice(str(number))]))
            number += 1
    book.catch_up(30)

    assert vacuum.returncode == 0
    assert book.path == path
    assert [event["text"] for event in Journal(path).events("t")] == [str(one) for one in range(number)]


def test_a_file_that_may_not_grow_is_given_up_and_keeps_what_it_has(tmp_path: Path) -> None:
    script = """
import asyncio, resource, signal, sys, warnings
from pathlib import Path
from nbtool.chat.journal import Journal
from nbtool.events import Notice
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
warnings.showwarning = lambda message, *_, **__: print("warning:", message)
book = Journal(Path(sys.argv[1]))
for number in range(40):
    asyncio.run(book.write("c", "t", [Notice(f"{number} " + "x" * 9_000)]))
print(len(book.events("t")))
"""
    path = tmp_path / "journal.sqlite"
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, timeout=240
    )
    warned, count = run.stdout.splitlines()

    assert "in memory" in warned
    assert count == "40"
    stored = [str(event["text"]).split()[0] for event in Journal(path).events("t")]
    assert stored == [str(number) for number in range(len(stored))]
    assert 3 < len(stored) < 40


def test_damage_inside_a_file_is_found_and_the_file_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    book = Journal(path)
    write_events(book, *(Notice(f"{number} " + "x" * 900) for number in range(50)))
    book.close()
    data = bytearray(path.read_bytes())
    data[-4096 * 3 :] = os.urandom(4096 * 3)
    path.write_bytes(data)

    book = Journal(path)
    with pytest.warns(UserWarning, match="damaged"):
        asyncio.run(book.write("c", "new", [Notice("new")]))
    found = book.events("new")
    book.close()

    assert [event["text"] for event in found] == ["new"]
    assert path.read_bytes() == data


def test_several_kernels_write_at_once_and_nothing_is_lost_or_doubled(tmp_path: Path, record_property: Tell) -> None:
    write_at_once(tmp_path, kernels=3, appends=100, tell=record_property)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_several_kernels_write_ten_thousand_times_each(tmp_path: Path, record_property: Tell) -> None:
    write_at_once(tmp_path, kernels=4, appends=10_000, tell=record_property)


def write_at_once(folder: Path, kernels: int, appends: int, tell: Tell) -> None:
    """Let processes write to one journal: each reads all its own words in order, and the large one is there once.

    A process that waited too long for the others says so, and keeps the rest in memory: what it wrote is the beginning.
    """
    tell("injected", kernels * appends)
    script = """
import asyncio, sys, warnings
from pathlib import Path
from nbtool.chat.journal import Journal
from nbtool.events import Notice
book = Journal(Path(sys.argv[1]))
count = int(sys.argv[3])
async def write():
    for number in range(count):
        await book.write(sys.argv[2], sys.argv[2], [Notice(str(number)), Notice("x" * 2_000)])
with warnings.catch_warnings(record=True) as told:
    asyncio.run(write())
assert [event["text"] for event in book.events(sys.argv[2])][::2] == [str(number) for number in range(count)]
print(len(told))
"""
    path = folder / "journal.sqlite"
    command = [sys.executable, "-c", script, str(path)]
    running = [
        subprocess.Popen([*command, f"chat_{n}", str(appends)], stdout=subprocess.PIPE, text=True)
        for n in range(kernels)
    ]
    actual = [int(kernel.communicate(timeout=240 + appends // 8)[0]) for kernel in running]

    assert [kernel.returncode for kernel in running] == [0] * kernels
    assert 0 in actual
    for number, warned in enumerate(actual):
        texts = [event["text"] for event in Journal(path).events(f"chat_{number}")]
        assert texts[::2] == [str(n) for n in range(len(texts[::2]))]
        assert len(texts) == 2 * appends or warned == 1
        assert set(texts[1::2]) <= {"x" * 2_000}
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM contents").fetchone() == (1,)


def test_writes_that_wait_together_are_one_transaction(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")

    async def many() -> None:
        await asyncio.gather(*(book.write("c", "t", [Notice(str(number))]) for number in range(200)))

    write_events(book, Notice("first"))
    size = (tmp_path / "journal.sqlite-wal").stat().st_size
    asyncio.run(many())

    assert len(book.events("t")) == 201
    assert (tmp_path / "journal.sqlite-wal").stat().st_size - size < 200 * 4096


def test_chats_are_listed_with_their_notebook_and_first_prompt(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite", notebook="prices.ipynb")
    for turn_id in ("t1", "t2"):
        asyncio.run(book.write("c", turn_id, [TurnStarted(turn_id, "m", user(f"Hello {turn_id}"), 1.0)]))

    (line,) = book.read(lambda connection: queries.list_chats(connection, 100))
    assert (line.chat_id, line.turns, line.notebook, line.title) == ("c", 2, "prices.ipynb", "Hello t1")


def test_a_file_that_is_no_journal_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_text("no database, " * 1_000)

    with pytest.raises(JournalError, match="cannot be read"):
        Journal(tmp_path / "journal.sqlite").read(lambda connection: queries.list_chats(connection, 100))


def test_reading_makes_no_file(tmp_path: Path) -> None:
    assert Journal(tmp_path / "journal.sqlite").read(lambda connection: queries.list_chats(connection, 100)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_takes_a_journal_of_its_own() -> None:
    own = journal()
    child = os.fork()
    if not child:
        os._exit(0 if journal() is not own else 1)

    assert os.waitpid(child, 0)[1] == 0


def test_a_journal_that_was_closed_leaves_no_thread_and_writes_again(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    for number in range(20):
        write_events(book, Notice(str(number)))
        thread = book._store._thread
        book.close()
        assert thread is not None
        thread.join(240)
        assert not thread.is_alive()

    assert [event["text"] for event in book.events("t")] == [str(number) for number in range(20)]
    book.close()


def test_a_journal_that_is_garbage_ends_its_thread_though_a_turn_has_written_to_it() -> None:
    journal.cache_clear()
    assert Chat(wire=ScriptedWire(["Hello."])).send("Hi").status == "completed"
    thread = journal()._store._thread
    assert thread is not None
    journal.cache_clear()
    for _ in range(100):  # the loop lets go of the turn some time after its end
        gc.collect()
        thread.join(0.1)
        if not thread.is_alive():
            break

    assert not thread.is_alive()


def test_a_journal_that_nobody_used_or_that_is_closed_is_closed_where_no_thread_can_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused, used = Journal(tmp_path / "unused.sqlite"), Journal(tmp_path / "used.sqlite")
    write_events(used, Notice("one"))
    thread = used._store._thread
    used.close()
    assert thread is not None
    thread.join(240)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError

    monkeypatch.setattr(threading.Thread, "start", refuse)
    unused.close()
    used.close()

    assert not (tmp_path / "unused.sqlite").exists()


@pytest.mark.promise("policy-limits")
def test_turns_older_than_a_policy_allows_are_deleted_when_the_journal_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    former = Journal(tmp_path / "journal.sqlite")
    write_events(former, Notice("recent"), turn_id="recent")
    former.execute(old_turn)
    former.close()

    journal.cache_clear()
    try:
        with policy_in_force(tmp_path, "[journal]\ndays = 30"):
            book = journal()
            left = {turn_id: len(book.events(turn_id)) for turn_id in ("old", "recent")}
    finally:
        journal.cache_clear()
    assert left == {"old": 0, "recent": 1}


def old_turn(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute(
            "INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, 'c', 'old', 'notice', ?)",
            (time.time() - 31 * 86_400, '{"kind": "notice", "text": "old"}'),
        )


def test_a_failure_to_delete_old_turns_is_reported_and_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"no database" * 100)
    book = Journal(path)

    def expire() -> None:
        book.expire(30)
        book.close()

    with pytest.warns(UserWarning, match=r"Turns of more than 30 days were not deleted \("):
        expire()
