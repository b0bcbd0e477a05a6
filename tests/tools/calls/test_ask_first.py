"""`run="ask_first"`: a tool asks before its first call in a chat, and not again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import BY_POLICY, BY_REMEMBERED, Policy, QueueChange, Undecided
from nbtool.tools.calls.run_gate import FIRST_CALL
from nbtool.toolsets import files
from tests.tools.calling import ask_for, make_harness


@tool(run="ask_first")
def look(name: str) -> str:
    "Look."
    return name


def turn_with(approver: Any, *names: str, tools: Any = (look,)) -> Any:
    return Chat(wire=ScriptedWire([*(call("look", name=name) for name in names), "Done."]), tools=tools).send(
        "Go", approver=approver
    )


@pytest.mark.promise("once")
def test_the_first_call_asks_and_says_so_and_later_ones_do_not() -> None:
    with ScriptedApprover([Approved()]) as person:
        turn = turn_with(person, "a", "b", "c")

    assert [one.shown for one in turn.calls] == ["a", "b", "c"]
    assert [one.decisions[0].by == BY_REMEMBERED for one in turn.calls] == [False, True, True]
    assert person.questions[0].notes == (FIRST_CALL,)


def test_a_denied_first_call_is_not_the_first_one() -> None:
    with ScriptedApprover([Denied("not now"), Approved()]) as person:
        turn = turn_with(person, "a", "b", "c")

    assert [one.status for one in turn.calls] == ["denied", "ok", "ok"]
    assert len(person.questions) == 2


def test_a_first_call_that_a_person_edits_counts() -> None:
    with ScriptedApprover([Approved({"name": "x"})]) as person:
        turn = turn_with(person, "a", "b")

    assert [one.result for one in turn.calls] == ["x", "b"]


def test_what_no_person_and_no_approver_decided_is_not_remembered() -> None:
    class Automatic:
        name = BY_POLICY

        def __init__(self) -> None:
            self.asked = 0

        def ask(self, _: object) -> Approved:
            self.asked += 1
            return Approved()

    automatic = Automatic()
    turn_with(automatic, "a", "b")

    assert automatic.asked == 2


def test_the_questions_of_one_round_are_settled_by_one_approval() -> None:
    harness = make_harness(look, approver=lambda _: Undecided())
    approvals = harness.runtime.approvals

    def approve_first(change: QueueChange) -> None:
        if change.kind == "asked" and len(approvals.pending()) == 3:
            approvals.decide(approvals.pending()[0].digest, Approved(), by="button")

    approvals.add_listener(approve_first)
    records = harness.run_lent(*(ask_for("look", name=name) for name in "abc"))

    assert [one.shown for one in records] == ["a", "b", "c"]
    assert sorted(one.decisions[0].by for one in records) == ["button", BY_REMEMBERED, BY_REMEMBERED]


def test_a_sensitive_tool_asks_every_time() -> None:
    assert Policy("ask_first", sensitive=True).run_mode({}) == "ask_always"
    with ScriptedApprover([Approved(), Approved()]) as person:
        turn_with(person, "a", "b", tools=[tool(look, run="ask_first", sensitive=True)])

    assert [one.notes for one in person.questions] == [(), ()]


@pytest.mark.promise("asks-by-default")
def test_files_ask_before_the_first_reading_of_each_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    chat = Chat(tools=[files(tmp_path / "one").prefixed("one_"), files(tmp_path / "two").prefixed("two_")])
    reads = [call(f"{name}_read_file", path="a.txt") for name in ("one", "one", "two", "two")]
    with ScriptedApprover([("one_read_file", Approved()), ("two_read_file", Approved())]) as person:
        chat.model = Chat(wire=ScriptedWire([*reads, "Done.", call("one_read_file", path="a.txt"), "Done."])).model
        turn = chat.send("Read.", approver=person)
        chat.approvals.revoke(chat.approvals.remembered()[0].approval_id)
        denied = chat.send("Read again.", approver=lambda _: Denied("no"))

    assert [one.shown for one in turn.calls] == ["one", "one", "two", "two"]
    assert [one.description.split(". ")[0] for one in person.questions] == [
        f"Files below {tmp_path / name}" for name in ("one", "two")
    ]
    assert denied.calls[0].status == "denied"
