"""A map whose process was killed: no call that had started runs again, and no answer that had arrived is paid twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.batch.earlier_maps.earlier_turns import NOT_REPEATED
from nbtool.errors import NotRepeated
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

NAMES = [f"p{n}" for n in range(6)]
KILL_AT = "KILL_AT"
"""The name of the setting with the name at which the tool kills its process."""

SCRIPT = """
import os, signal, sys
from nbtool.chat.batch.sinks.sqlite_sink import SqliteSink
from nbtool.chat.journal.process_journal import Journal
from tests.chat.batch.earlier_maps.test_killed_map import NAMES, chat_of

class KilledSink(SqliteSink):
    def write(self, answers):
        os.kill(os.getpid(), signal.SIGKILL)

# on a busy machine the disk may take longer than a turn waits for it
Journal.__init__.__kwdefaults__["wait_seconds"] = 60
kind, path, log, resume = sys.argv[1:]
chat, options = chat_of(log), {"concurrency": 1, "resume": resume == "True"}
if kind == "map":
    chat.map(NAMES, **options)
else:
    chat.map_into(KilledSink(path) if kind == "unwritten" else path, NAMES, **options)
"""


def chat_of(log: str) -> Chat:
    """Make a chat whose tool notes each of its runs in a file, and kills the process after that of one name."""

    @tool(run="auto")
    def pay(name: str) -> str:
        "Pay."
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        if name == os.environ.get(KILL_AT):
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {name}"

    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call("pay", name=last.text)

    return Chat(wire=ScriptedWire([reply] * 40), tools=[pay])


def kill_map(kind: str, path: Path, log: Path, *, at: str = "", resume: bool = True) -> None:
    """Run a map in a process of its own that is killed: at a call, or when it writes its first answers."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(path), str(log), str(resume)],
        env={**os.environ, KILL_AT: at}, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def read(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.sampled(1)
@pytest.mark.promise("maps-once")
@pytest.mark.parametrize("suffix", ["sqlite", "parquet"])
def test_a_row_whose_call_had_started_is_failed_and_not_sent_again_until_calls_may_be_repeated(
    tmp_path: Path, suffix: str
) -> None:
    path, log = tmp_path / f"a.{suffix}", tmp_path / "log"
    rows = path if suffix == "sqlite" else tmp_path / "a.parquet.sqlite"
    kill_map("into", path, log, at="p3")

    second = chat_of(str(log)).map_into(path, NAMES)
    third = chat_of(str(log)).map_into(path, NAMES)

    assert sorted(log.read_text(encoding="utf-8").split()) == NAMES
    assert (second.answered, second.answered_before, second.failed) == (2, 3, 1)
    assert [text.startswith(NOT_REPEATED) for text, _ in second.failures] == [True]
    assert read(rows, "SELECT row, value IS NULL FROM answers WHERE error IS NOT NULL") == [(3, 1)]
    assert (third.answered, third.answered_before, third.failed) == (0, 5, 1)
    assert third.failures == second.failures

    last = chat_of(str(log)).map_into(path, NAMES, repeat_calls=True)
    assert (last.answered, last.answered_before) == (1, 5)
    assert sorted(log.read_text(encoding="utf-8").split()) == sorted([*NAMES, "p3"])


@pytest.mark.sampled(0)
def test_a_map_that_is_stopped_before_it_came_to_such_a_row_leaves_it_to_the_next_one(tmp_path: Path) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    kill_map("into", path, log, at="p3")

    def broken() -> Any:
        yield from NAMES[:1]
        raise ValueError("the source of the prompts")

    with pytest.raises(ValueError, match="the source"):
        chat_of(str(log)).map_into(path, broken())
    totals = chat_of(str(log)).map_into(path, NAMES)

    assert sorted(log.read_text(encoding="utf-8").split()) == NAMES
    assert (totals.answered, totals.failed) == (2, 1)


@pytest.mark.sampled(0)
def test_an_answer_that_was_not_written_is_taken_from_the_journal(tmp_path: Path) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    kill_map("unwritten", path, log)
    done = log.read_text(encoding="utf-8").split()

    totals = chat_of(str(log)).map_into(path, NAMES)

    assert done
    assert sorted(log.read_text(encoding="utf-8").split()) == NAMES
    assert totals.answered_before >= 1
    assert totals.answered + totals.answered_before + totals.failed == len(NAMES)
    assert read(path, "SELECT value FROM answers WHERE row = 0") == [("paid p0",)]


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize(("kind", "at"), [("into", "p4"), ("unwritten", "")])
def test_without_resume_a_file_is_continued_from_what_its_own_map_left(tmp_path: Path, kind: str, at: str) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    kill_map(kind, path, log, at=at, resume=False)
    totals = chat_of(str(log)).map_into(path, NAMES, resume=False)

    assert sorted(log.read_text(encoding="utf-8").split()) == NAMES
    assert totals.answered_before >= 1
    assert read(path, "SELECT row FROM answers WHERE acted") == [(4,)] * (kind == "into")


@pytest.mark.sampled(0)
@pytest.mark.promise("maps-once")
def test_a_map_that_is_killed_twice_finds_what_both_left(tmp_path: Path) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    kill_map("into", path, log, at="p1")
    kill_map("into", path, log, at="p4")

    totals = chat_of(str(log)).map_into(path, NAMES)

    assert sorted(log.read_text(encoding="utf-8").split()) == NAMES
    assert read(path, "SELECT row FROM answers WHERE acted ORDER BY row") == [(1,), (4,)]
    assert totals.answered == 1


def test_a_map_with_tools_into_a_file_says_that_a_journal_in_memory_protects_from_no_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")
    log = str(tmp_path / "log")
    with pytest.warns(RuntimeWarning, match="The journal is in memory only. If this process is killed"):
        chat_of(log).map_into(tmp_path / "a.sqlite", NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Chat(wire=ScriptedWire(["ok"] * 6)).map_into(tmp_path / "b.sqlite", NAMES)
        chat_of(log).map_into(lambda _: None, NAMES)


@pytest.mark.sampled(0)
def test_a_map_without_a_file_does_not_repeat_it_either_unless_calls_may_be_repeated(tmp_path: Path) -> None:
    log = tmp_path / "log"
    kill_map("map", tmp_path / "-", log, at="p3")

    second = chat_of(str(log)).map(NAMES)
    forced = chat_of(str(log)).map(["p3"], repeat_calls=True)
    third = chat_of(str(log)).map(NAMES)

    assert [(one.index, type(one.error)) for one in second.errors] == [(3, NotRepeated)]
    assert "`repeat_calls=True`" in str(second.errors[0].error)
    assert forced.values == ["paid p3"]
    assert third.values == [f"paid {name}" for name in NAMES]
    assert sorted(log.read_text(encoding="utf-8").split()) == sorted([*NAMES, "p3"])


def test_a_running_turn_of_this_process_is_no_killed_one() -> None:
    asked: list[str] = []

    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call("again", name=last.text)

    @tool(run="auto")
    def again(name: str) -> str:
        "Map the same prompt while this call runs."
        if not asked:
            asked.append(name)
            with pytest.warns(UserWarning, match="are run again: its model"):  # its list of names has changed
                inner = chat.map([name])
            return f"inner {inner.errors}"
        return "inner call"

    chat = Chat(wire=ScriptedWire([reply] * 8), tools=[again])

    assert chat.map(["a"], resume=False).values == ["inner []"]
