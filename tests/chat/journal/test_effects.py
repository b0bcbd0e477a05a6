"""Approved effects, counted in a ledger over kills, resumptions, broken replies, time-outs and two clients."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nbtool.chat.conversation import restore
from nbtool.chat.journal import Journal, queries
from nbtool.events import CallDecided
from tests.chat.journal.test_crash import ROOT, shim

HERE = Path(__file__).parent
EFFECTS = 60
"""Effects of a session."""

Tell = Callable[[str, object], None]

__all__ = ["shim"]  # the fixture


@pytest.mark.promise("once")
def test_approved_effects_happen_once_over_kills_and_resumptions(
    tmp_path: Path, shim: Path, record_property: Tell
) -> None:
    assert count(tmp_path, shim, sessions=3, tell=record_property) >= 2 * EFFECTS


@pytest.mark.nightly
@pytest.mark.timeout(5400)
def test_twenty_thousand_approved_effects_happen_once(tmp_path: Path, shim: Path, record_property: Tell) -> None:
    assert count(tmp_path, shim, sessions=350, tell=record_property) >= 20_000


def count(folder: Path, shim: Path, sessions: int, tell: Tell) -> int:
    """Hold sessions and count the effects of all of them."""
    names = [f"s{number}" for number in range(sessions)]
    environment = {**os.environ, "LD_PRELOAD": str(shim)}
    environment.pop("NBTOOL_HOME", None)
    command = [sys.executable, str(HERE / "effects.py"), str(folder), str(EFFECTS), *names]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=errors, start_new_session=True)
        try:
            assert process.wait(50 + 15 * sessions) == 0, (folder / "errors").read_text()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    said = (folder / "errors").read_text()
    assert not said, said[-2_000:]
    effects = sum(check(folder / name, folder / f"{name}.ledger") for name in names)
    tell("injected", effects)
    return effects


def check(home: Path, traffic: Path) -> int:
    """Check one session, and give how many effects it had."""
    done = [int(line) for line in traffic.read_text().splitlines()]
    book = Journal(home / "journal.sqlite")
    (line,) = book.read(lambda connection: queries.list_chats(connection, 100))
    last = (
        restore.restore_tree(book.read(lambda connection: queries.chat_events(connection, line.chat_id)))
        .active_path[-1]
        .versions[-1]
    )
    book.close()
    outcome = {int(call.resolved["n"].text): call.status for call in last.calls}
    assert last.status == "completed", f"{home}: {last.status} {last.error!r}"
    assert len(done) == len(set(done)), f"{home}: twice: {[n for n in done if done.count(n) > 1]}"
    assert sorted(outcome) == list(range(EFFECTS))
    for n, status in outcome.items():
        late = {"timed_out"} if n % 3 == 2 else set()  # also before its effect, where the machine is busy
        expected = {"unknown", *late} | ({"ok"} if n in done and not late else set())
        assert status in expected, f"{home}: effect {n} is told as {status}, it is {'' if n in done else 'not '}done"
    approved = {event.call_id for event in last.log if isinstance(event, CallDecided) and event.verdict == "approved"}
    assert len(approved) == EFFECTS, f"{home}: {EFFECTS - len(approved)} were not approved"
    return len(done)
