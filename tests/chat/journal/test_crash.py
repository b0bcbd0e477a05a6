"""A process that is killed, or whose disk fails, at each of its writes in turn."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from nbtool.chat.conversation import restore
from nbtool.chat.journal import Journal, queries
from nbtool.chat.journal.durability import UNSYNCED_KINDS
from nbtool.event_json import load_events
from nbtool.events import TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from tests.chat.journal.session import ANNOUNCED_START, kind_of

Tell = Callable[[str, object], None]
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
UNSYNCED = UNSYNCED_KINDS | {ANNOUNCED_START}
KNOWN_OR_UNKNOWN = ("ok", "withheld", "unknown")
"""What may be said of a call that ran: the person may have withheld its result."""

STRIDE = 25
"""Of how many points the quick tests try one."""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not sys.platform.startswith("linux"):
        pytest.skip("the shim that ends a process at a write needs Linux and a C compiler")
    built = tmp_path_factory.mktemp("shim") / "crash.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(HERE / "crash.c"), "-ldl"]
    subprocess.run(command, check=True, timeout=240)
    return built


def write_old_turns(path: Path) -> None:
    """Create a journal with three turns of a chat."""
    book = Journal(path)
    for number in range(3):
        turn_id = f"t_old{number}"
        started = TurnStarted(turn_id, "m", user("long " * 500), 1.0)
        ended = TurnEnded("completed", "An answer. " * 200, Usage(), 1, 0, 1.0)
        asyncio.run(book.write("chat_old", turn_id, [started, ended]))
    book.close()


def hold_sessions(folder: Path, shim: Path, points: Iterable[str], plot: str = "calls") -> list[Path]:
    """Hold a session for each point, each on a journal with earlier turns, and give their homes."""
    homes = [folder / point for point in points]
    old = folder / "old.sqlite"
    folder.mkdir(parents=True, exist_ok=True)
    if not old.exists():
        write_old_turns(old)
    for home in homes:
        home.mkdir(parents=True, mode=0o700)
        shutil.copy(old, home / "journal.sqlite")
    environment = {**os.environ, "LD_PRELOAD": str(shim), "CRASH_COUNT": str(folder / "count")}
    environment.pop("NBTOOL_HOME", None)
    command = [sys.executable, str(HERE / "session.py"), plot, str(folder), *(home.name for home in homes)]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=errors, start_new_session=True)
        try:
            assert process.wait(50 + 3 * len(homes)) == 0, (folder / "errors").read_text()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a session that hangs goes with the rest
    return homes


def count(folder: Path, shim: Path, plot: str = "calls") -> int:
    """Tell how many calls that change files a session makes that nothing happens to; it is checked, too."""
    (home,) = hold_sessions(folder / "whole", shim, ["-0"], plot)
    check(home)
    ends = [line[2] for line in output_lines(home) if line[0] == "turn"]
    assert len(ends) >= 2
    assert set(ends) == {"completed"}
    assert not [line for line in output_lines(home) if line[0] == "error"]
    return int((folder / "whole" / "count").read_text())


def output_lines(home: Path) -> list[list[str]]:
    return [line.split(" ", 2) for line in home.with_suffix(".out").read_text().splitlines()]


def check(home: Path) -> None:
    """Check what holds after any end: all that was acknowledged, one effect a call, a word for each call, no damage."""
    book = Journal(home / "journal.sqlite")
    lines = output_lines(home)
    effects = [name for word, name, *_ in lines if word == "effect"]
    acknowledged: dict[str, list[str]] = {}
    for word, *rest in lines:
        if word == "event":
            acknowledged.setdefault(rest[0], []).append(rest[1])
    delivered: dict[str, str] = {}
    for turn_id, kinds in acknowledged.items():
        events = load_events(book.events(turn_id))
        written = [kind_of(event) for event in events if not event.kind.endswith("_delta")]
        assert written[: len(kinds)] == kinds, f"{home}: {kinds} were acknowledged, {written} are there"
        turn = restore.restore_turn(events)
        delivered |= {call.resolved["to"].text.strip('"'): call.status for call in turn.calls}
    assert len(effects) == len(set(effects)), f"{home}: something ran twice: {effects}"
    assert all(delivered[name] in KNOWN_OR_UNKNOWN for name in effects), f"{home}: {effects}, told as {delivered}"
    assert [
        line.turns
        for line in book.read(lambda connection: queries.list_chats(connection, 100))
        if line.chat_id == "chat_old"
    ] == [3]
    book.close()
    with closing(sqlite3.connect(home / "journal.sqlite")) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def try_all(folder: Path, shim: Path, points: list[str], tell: Tell, plot: str = "calls") -> None:
    tell("injected", len(points))
    for home in hold_sessions(folder, shim, points, plot):
        check(home)
        shutil.rmtree(home, ignore_errors=True)  # files of the journal go as its readers close it


@pytest.mark.promise("killed-kernel")
def test_after_a_kill_at_a_write_every_acknowledged_event_is_there(
    tmp_path: Path, shim: Path, record_property: Tell
) -> None:
    writes = count(tmp_path, shim)
    points = [f"{('kill', 'torn')[number % 2]}-{number}" for number in range(1, writes + 1, STRIDE)]

    assert writes > 100
    try_all(tmp_path, shim, points, record_property)


@pytest.mark.promise("killed-kernel")
@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plot", ["calls", "neighbours", "gates", "tree", "media", "long"])
@pytest.mark.parametrize("what", ["kill", "torn"])
def test_after_a_kill_at_any_write_every_acknowledged_event_is_there(
    tmp_path: Path, shim: Path, plot: str, what: str, record_property: Tell
) -> None:
    points = [f"{what}-{number}" for number in range(1, count(tmp_path, shim, plot) + 1)]

    try_all(tmp_path, shim, points, record_property, plot)


def check_after_power_cut(home: Path) -> int:
    """Check what holds although the disk lacks what was not waited for; return how many events are lost."""
    book = Journal(home / "journal.sqlite")
    lines = output_lines(home)
    turns: dict[str, list[str]] = {}
    for word, *rest in lines:
        if word == "event":
            turns.setdefault(rest[0], []).append(rest[1])
    lost = 0
    delivered: dict[str, str] = {}
    for turn_id, kinds in turns.items():
        events = load_events(book.events(turn_id))
        written = [kind_of(event) for event in events if not event.kind.endswith("_delta")]
        synced = max((at for at, kind in enumerate(kinds, 1) if kind not in UNSYNCED), default=0)
        assert written[:synced] == kinds[:synced], f"{home}: {kinds[:synced]} were on the disk, {written} are there"
        lost += max(0, len(kinds) - len(written))
        if written:
            turn = restore.restore_turn(events)
            delivered |= {call.resolved["to"].text.strip('"'): call.status for call in turn.calls}
    effects = [name for word, name, *_ in lines if word == "effect"]
    assert all(delivered.get(name, "missing") in KNOWN_OR_UNKNOWN for name in effects), (
        f"{home}: {effects}, told as {delivered}"
    )
    book.close()
    with closing(sqlite3.connect(home / "journal.sqlite")) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return lost


def cut_power(folder: Path, shim: Path, plots: Iterable[str], stride: int, tell: Tell) -> int:
    """Cut the power at the writes of sessions, and return how many events were lost."""
    lost = injected = 0
    for plot in plots:
        points = [f"power-{number}" for number in range(1, count(folder / plot, shim, plot) + 1, stride)]
        injected += len(points)
        for home in hold_sessions(folder / plot, shim, points, plot):
            lost += check_after_power_cut(home)
            shutil.rmtree(home, ignore_errors=True)  # files of the journal go as its readers close it
    tell("injected", injected)
    return lost


@pytest.mark.promise("written-first")
def test_after_a_power_cut_every_call_that_ran_and_every_ended_turn_is_there(
    tmp_path: Path, shim: Path, record_property: Tell
) -> None:
    assert cut_power(tmp_path, shim, ["calls"], STRIDE, record_property) > 0, "nothing was lost: the shim cut nothing"


@pytest.mark.promise("written-first")
@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_after_a_power_cut_at_any_write_every_call_that_ran_is_there(
    tmp_path: Path, shim: Path, record_property: Tell
) -> None:
    assert cut_power(tmp_path, shim, ["calls", "neighbours", "gates", "tree", "media", "long"], 1, record_property) > 0


def fail_at(folder: Path, shim: Path, points: list[str], tell: Tell) -> None:
    tell("injected", len(points))
    for home in hold_sessions(folder, shim, points):
        lines = output_lines(home)
        warnings = [line for line in lines if line[0] == "warning"]
        assert [line[2] for line in lines if line[0] == "turn"] == ["completed", "completed"], f"{home}: {lines}"
        assert sorted(line[1] for line in lines if line[0] == "effect") == ["Ada", "Bob", "Cy"]
        assert len(warnings) <= 1, f"{home}: {warnings}"
        assert all("history stays in memory" in " ".join(line) for line in warnings)
        assert all(float(line[1]) < 2.0 for line in lines if line[0] == "seconds"), f"{home}: {lines[-1]}"
        stored = [
            line.turns
            for line in Journal(home / "journal.sqlite").read(lambda connection: queries.list_chats(connection, 100))
            if "old" in line.chat_id
        ]
        assert stored == [3], f"{home}: what was there before is not whole"
        shutil.rmtree(home, ignore_errors=True)  # a connection that closes removes its own files meanwhile


@pytest.mark.sampled(0)
def test_a_disk_that_fails_or_hangs_is_reported_once_and_the_chat_goes_on(
    tmp_path: Path, shim: Path, record_property: Tell
) -> None:
    errors = [f"{what}-{number}" for number in (1, 41) for what in ("ENOSPC", "EROFS")]
    fail_at(tmp_path, shim, [*errors, "EIO-10", "EDQUOT-101", "hang-30"], record_property)


@pytest.mark.promise("goes-on")
def test_a_disk_that_is_slow_is_waited_for_and_nothing_is_missing(tmp_path: Path, shim: Path) -> None:
    (home,) = hold_sessions(tmp_path, shim, ["slow-41"])
    warnings = [" ".join(line[1:]) for line in output_lines(home) if line[0] == "warning"]

    assert len(warnings) == 1
    assert "responds slowly" in warnings[0]
    assert all(float(line[1]) < 2.0 for line in output_lines(home) if line[0] == "seconds")
    check(home)


@pytest.mark.promise("goes-on")
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", ["ENOSPC", "EIO", "EROFS", "EDQUOT"])
def test_a_disk_that_fails_at_any_write_is_reported_once(
    tmp_path: Path, shim: Path, what: str, record_property: Tell
) -> None:
    fail_at(tmp_path, shim, [f"{what}-{number}" for number in range(1, count(tmp_path, shim) + 1)], record_property)
