"""Answers of turns in which a call was denied, because nobody could be asked about it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chat.batch import Answer, Batch
from nbtool.chat.batch.status_line import APPROVER_FIX, REPEAT_FIX, UNASKED_FIX
from nbtool.chat.subchat import subchat
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question
from nbtool.wire.base import Prompt

HINT = f"2 with calls denied or withheld: nobody could be asked ({UNASKED_FIX})"
RAN_HINT = f"{HINT[:-1]}; {REPEAT_FIX})"
NAMES = ["a", "b"]


@tool
def drop_table(name: str) -> str:
    "Drop a table."
    return f"dropped {name}"


@tool(run="auto", result="always")
def secret(name: str) -> str:
    "Read a secret."
    return f"secret {name}"


class Approver:
    """Gives one decision, and notes what it was asked about."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked: list[str] = []

    def __call__(self, question: Question) -> Decision:
        self.asked.append(question.tool)
        return self.decision


def use(name: str) -> Any:
    """Reply with a call of the tool, and then with its result."""

    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call(name, name=last.text)

    return reply


def chat_of(tool_: Any, name: str, **options: Any) -> Chat:
    return Chat(wire=ScriptedWire([use(name)] * 8), tools=[tool_], **options)


@pytest.mark.parametrize(("tool_", "name", "hint"), [(drop_table, "drop_table", HINT), (secret, "secret", RAN_HINT)])
def test_a_map_says_how_many_prompts_had_calls_that_nobody_could_be_asked_about(
    tool_: Any, name: str, hint: str
) -> None:
    batch = chat_of(tool_, name).map(NAMES, keep="values")

    assert hint in repr(batch)
    assert "<Batch: 2 of 2 prompts, 2 with" in repr(batch)
    assert [one.has_undecided_calls for one in batch.answers] == [True, True]
    assert batch.errors == []
    assert all(value.startswith("Nobody could be asked to ") for value in batch.values)


def test_a_script_whose_output_is_a_pipe_says_so_once_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    chat_of(drop_table, "drop_table").map(NAMES)
    shown = capsys.readouterr()
    chat_of(drop_table, "drop_table").map(NAMES, approver=Approver(Approved()))

    assert (shown.out, shown.err) == ("", f"nbtool: 2 of 2 prompts, {HINT}\n")
    assert capsys.readouterr().err == ""


def test_such_answers_are_not_taken_from_the_journal_and_those_that_follow_are() -> None:
    chat_of(drop_table, "drop_table").map(NAMES)
    approver = Approver(Approved())
    again = chat_of(drop_table, "drop_table").map(NAMES, approver=approver)
    third = chat_of(drop_table, "drop_table").map(NAMES)

    assert approver.asked == ["drop_table"] * 2
    assert again.values == ["dropped a", "dropped b"]
    assert repr(again) == "<Batch: 2 of 2 prompts>"
    assert third.values == again.values
    assert repr(third) == "<Batch: 2 of 2 prompts, 2 answered before>"


def test_a_denial_by_an_approver_is_an_answer() -> None:
    first = chat_of(drop_table, "drop_table").map(NAMES, approver=Approver(Denied("not today")))
    again = chat_of(drop_table, "drop_table").map(NAMES, approver=Approver(Approved()))

    assert repr(first) == "<Batch: 2 of 2 prompts>"
    assert repr(again) == "<Batch: 2 of 2 prompts, 2 answered before>"
    assert all("not today" in value for value in again.values)


def fail(question: Question) -> Decision:
    raise ValueError(question.tool)


@pytest.mark.parametrize(
    ("approver", "reason"),
    [(fail, "ValueError: drop_table"), (lambda _: "yes", "not a str")],
    ids=["raises", "returns no decision"],
)
def test_a_denial_because_the_approver_failed_says_how_and_is_asked_again(approver: Any, reason: str) -> None:
    first = chat_of(drop_table, "drop_table").map(NAMES, approver=approver)
    again = chat_of(drop_table, "drop_table").map(NAMES, approver=Approver(Approved()))

    assert [one.has_undecided_calls for one in first.answers] == [True, True]
    assert reason in repr(first)
    assert APPROVER_FIX in repr(first)
    assert again.values == ["dropped a", "dropped b"]


def test_a_call_of_a_sub_chat_that_nobody_could_be_asked_about_counts_too() -> None:
    inner = Chat(wire=ScriptedWire([call("drop_table", name="a"), "not dropped"]), tools=[drop_table])
    outer = ScriptedWire([call("expert", question="Drop a."), "It was not dropped."])
    batch = Chat(wire=outer, tools=[subchat(inner, tools=[drop_table], name="expert")]).map(["a"])

    assert [one.has_undecided_calls for one in batch.answers] == [True]


@pytest.mark.parametrize("suffix", ["sqlite", "parquet"])
def test_a_map_into_a_file_sends_such_rows_again_until_somebody_could_be_asked(tmp_path: Path, suffix: str) -> None:
    path, approver = tmp_path / f"a.{suffix}", Approver(Approved())
    rows = path if suffix == "sqlite" else tmp_path / "a.parquet.sqlite"
    first = chat_of(drop_table, "drop_table").map_into(path, NAMES)
    marked = read(rows, "SELECT row FROM answers WHERE undecided ORDER BY row")
    again = chat_of(drop_table, "drop_table").map_into(path, NAMES, approver=approver)
    third = chat_of(drop_table, "drop_table").map_into(path, NAMES)

    assert str(first) == f"2 prompts, {HINT}"
    assert marked == [(0,), (1,)]
    assert approver.asked == ["drop_table"] * 2
    assert (again.answered, again.undecided, third.answered_before) == (2, 0, 2)
    assert read(rows, "SELECT value FROM answers ORDER BY row") == [("dropped a",), ("dropped b",)]
    assert read(rows, "SELECT row FROM answers WHERE undecided") == []


def test_a_parquet_file_marks_such_rows(tmp_path: Path) -> None:
    path, approver = tmp_path / "a.parquet", Approver(Approved())
    chat_of(drop_table, "drop_table").map_into(path, NAMES)
    marked = pd.read_parquet(path)["has_undecided_calls"].tolist()
    chat_of(drop_table, "drop_table").map_into(path, NAMES, approver=approver)

    assert marked == [True, True]
    assert pd.read_parquet(path)["has_undecided_calls"].tolist() == [False, False]


def test_a_function_receives_which_answers_have_such_calls() -> None:
    received: list[Answer] = []
    chat_of(drop_table, "drop_table").map_into(received.extend, NAMES)

    assert [one.has_undecided_calls for one in received] == [True, True]


def test_a_prompt_that_failed_is_no_answer_and_not_counted_as_such() -> None:
    wire = ScriptedWire([call("drop_table", name="a"), "no number"] * 4)
    batch: Batch = Chat(wire=wire, tools=[drop_table]).map(["a"], as_=int)

    assert "1 failed" in repr(batch)
    assert "denied" not in repr(batch)


def test_without_progress_only_such_calls_are_reported_and_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = chat_of(drop_table, "drop_table")
    chat.map(NAMES, progress=False)
    of_list = capsys.readouterr()
    Chat(wire=ScriptedWire(["Done."])).map(NAMES[:1], progress=False)
    of_answers = capsys.readouterr()
    chat_of(drop_table, "drop_table").map_into(tmp_path / "b.sqlite", NAMES, progress=False)
    of_file = capsys.readouterr()

    assert (of_list.out, of_list.err) == ("", f"nbtool: {HINT}\n")
    assert of_answers == ("", "")
    assert (of_file.out, of_file.err) == ("", f"nbtool: {HINT}\n")


def read(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()
