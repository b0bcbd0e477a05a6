"""A map into a function: after a stop or a kill, no call runs again, and the answers that had come are given again."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chain.hooks import JournalContext
from nbtool.chat.batch import Answer
from nbtool.chat.batch.streamed_map import CHUNK
from nbtool.chat.batch_builder import BEGIN_FIX
from nbtool.chat.journal import journal
from nbtool.chat.journal.queries import MAX_EVENTS
from nbtool.errors import NotRepeated
from nbtool.map_progress import CONTINUE_FIX
from nbtool.testing import ScriptedWire, cut
from nbtool.wire.base import Prompt
from tests.chat.batch.earlier_maps.test_killed_map import KILL_AT, NAMES, chat_of

SCRIPT = """
import sys
from tests.chat.batch.earlier_maps.test_killed_map import NAMES, chat_of

chat_of(sys.argv[1]).map_into(lambda answers: None, NAMES, concurrency=1)
"""

FILL = """
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
INSERT INTO events SELECT -number, at, chat_id, 'turn_other', 'notice', '{}'
FROM numbers, (SELECT at, chat_id FROM events LIMIT 1)
"""
"""Adds events to the chat of a map, before those that it has."""

pytestmark = pytest.mark.promise("maps-once")


def echo(prompt: Prompt) -> str:
    return prompt.messages[-1].text.upper()


def runs(log: Path) -> list[str]:
    return sorted(log.read_text(encoding="utf-8").split())


@pytest.mark.sampled(0)
def test_a_killed_map_into_a_function_gives_what_was_answered_and_refuses_the_row_whose_call_ran(
    tmp_path: Path,
) -> None:
    log, received = tmp_path / "log", list[Answer]()
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(log)],
        env={**os.environ, KILL_AT: "p3"}, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    totals = chat_of(str(log)).map_into(received.extend, NAMES)

    assert ended.returncode == -signal.SIGKILL
    assert runs(log) == NAMES
    assert (totals.answered, totals.answered_before, totals.failed) == (2, 3, 1)
    assert sorted(one.index for one in received if one.is_cached) == [0, 1, 2]
    assert {one.index: one.value for one in received if one.error is None}[0] == "paid p0"
    assert [type(one.error) for one in received if one.index == 3] == [NotRepeated]

    last = chat_of(str(log)).map_into(lambda _: None, NAMES, repeat_calls=True)
    assert (last.answered, last.answered_before) == (1, 5)
    assert runs(log) == sorted([*NAMES, "p3"])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_map_whose_function_raises_runs_no_finished_call_again(tmp_path: Path, error: type[BaseException]) -> None:
    log, received = tmp_path / "log", list[Answer]()

    def fail(_: Sequence[Answer]) -> None:
        raise error

    with pytest.raises(error):
        chat_of(str(log)).map_into(fail, NAMES, concurrency=1)
    before = runs(log)
    totals = chat_of(str(log)).map_into(received.extend, NAMES)

    assert before
    assert runs(log) == NAMES
    assert totals.answered + totals.answered_before == len(NAMES)
    assert totals.answered_before >= 1
    assert sorted(one.value for one in received) == [f"paid {name}" for name in NAMES]


def test_without_resume_all_prompts_are_sent_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        totals = chat_of(str(log)).map_into(lambda _: None, NAMES, resume=False)
        assert (totals.answered, totals.answered_before) == (len(NAMES), 0)

    assert runs(log) == sorted(NAMES * 2)


@pytest.mark.nightly
def test_a_repeated_prompt_is_counted_over_all_chunks() -> None:
    prompts = ["a", *(f"p{n}" for n in range(CHUNK - 1)), "a", "a"]
    received: list[Answer] = []
    with ScriptedWire(["first", *[echo] * (CHUNK - 1), "second"]) as wire:
        Chat(wire=wire).map_into(lambda _: None, prompts[:-1], concurrency=1)
    with ScriptedWire(["third"]) as again:
        totals = Chat(wire=again).map_into(received.extend, prompts, concurrency=1)

    values = {one.index: one.value for one in received}
    assert [values[index] for index in (0, CHUNK, CHUNK + 1)] == ["first", "second", "third"]
    assert (totals.answered, totals.answered_before) == (1, CHUNK + 1)


def test_the_latest_turn_with_an_answer_counts_and_not_one_that_broke_off_later() -> None:
    received: list[Answer] = []
    for replies, options in ((["first"], {}), (["second"], {"resume": False}), ([["half", cut()]], {"resume": False})):
        with ScriptedWire(replies) as wire:
            Chat(wire=wire).map_into(lambda _: None, ["a"], retries=0, **options)
    with ScriptedWire([]) as wire:
        Chat(wire=wire).map_into(received.extend, ["a"])

    assert [(one.value, one.is_cached) for one in received] == [("second", True)]


def test_a_map_of_a_list_and_a_map_into_a_function_know_each_others_answers() -> None:
    received: list[Answer] = []
    with ScriptedWire([echo, echo]) as wire:
        Chat(wire=wire).map(["a", "b"])
    with ScriptedWire([echo]) as wire:
        totals = Chat(wire=wire).map_into(received.extend, ["a", "b", "c"])
        values = Chat(wire=wire).map(["c", "b", "a"]).values

    assert (totals.answered, totals.answered_before) == (1, 2)
    assert values == ["C", "B", "A"]


def test_a_sink_of_the_user_that_does_not_know_what_ran_gets_the_answers_of_the_journal(tmp_path: Path) -> None:
    class Sink:
        def __init__(self) -> None:
            self.values: dict[int, Any] = {}

        def open(self, inputs: str) -> None:
            assert inputs

        def unanswered(self, items: Sequence[Any]) -> list[Any]:
            return [one for one in items if one.index not in self.values]

        def write(self, answers: Sequence[Answer]) -> None:
            self.values.update({one.index: one.value for one in answers})

        def close(self) -> None:
            pass

    log, sink = tmp_path / "log", Sink()
    chat_of(str(log)).map_into(sink, [*NAMES[:2], NAMES[0]])
    del sink.values[2]  # as if the process had been killed before it was written
    totals = chat_of(str(log)).map_into(sink, [*NAMES[:2], NAMES[0], NAMES[3]])

    assert Counter(runs(log)) == {"p0": 2, "p1": 1, "p3": 1}
    assert (totals.answered, totals.answered_before) == (1, 3)


@pytest.mark.nightly
def test_turns_are_found_behind_any_number_of_events(tmp_path: Path) -> None:
    log = tmp_path / "log"
    chat_of(str(log)).map(NAMES[:1])
    path = journal().path
    assert path
    journal().close()
    with sqlite3.connect(path) as connection:
        connection.execute(FILL, (MAX_EVENTS,))
    totals = [chat_of(str(log)).map(NAMES[:1]), chat_of(str(log)).map_into(lambda _: None, NAMES[:1])]

    assert ["1 answered before" in str(one) for one in totals] == [True, True]
    assert runs(log) == NAMES[:1]


class Redactor:
    """Leaves nothing of a prompt in the journal that could be compared."""

    def on_journal(self, context: JournalContext) -> None:
        context.text = "hidden"


def test_a_stopped_map_says_that_calls_run_again_where_no_later_map_knows_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: Sequence[Answer]) -> None:
        raise RuntimeError

    def stopped_line(plugins: Sequence[Redactor], **options: Any) -> str:
        with pytest.raises(RuntimeError):
            Chat(wire=ScriptedWire([echo]), plugins=plugins).map_into(fail, ["a"], **options)
        return capsys.readouterr().err

    fixes = (CONTINUE_FIX, BEGIN_FIX, BEGIN_FIX)
    lines = (stopped_line([]), stopped_line([], resume=False), stopped_line([Redactor()]))
    assert [f"({fix})" in line for fix, line in zip(fixes, lines, strict=True)] == [True] * 3
