"""Several calls in one round: what is asked about them together, and in which order they run."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question, Undecided


class AtOnce:
    """An approver that waits until all questions of the round lie on the desk, and answers the last one first."""

    def __init__(self, chat: Chat, count: int, *decisions: Decision) -> None:
        self.chat, self.count, self.decisions = chat, count, decisions or (Approved(),) * count
        self.questions: list[Question] = []
        self.on_the_desk: list[str] = []

    async def ask(self, question: Question) -> Decision | Undecided:
        """Answer everything when the last question has come."""
        self.questions.append(question)
        if len(self.questions) == self.count:
            self.on_the_desk = [waiting.shown for waiting in self.chat.approvals.pending()]
            for asked, decision in reversed(list(zip(self.questions, self.decisions, strict=True))):
                self.chat.approvals.decide(asked.digest, decision, by="test")
        return Approved() if len(self.questions) > self.count else Undecided()


class Signals:
    """What a tool and its approver wait for; as one of nbtool's own objects it is no part of the tool's data."""

    __module__ = "nbtool.tests"

    def __init__(self) -> None:
        self.changed, self.second_has_started = threading.Event(), threading.Event()


def test_all_questions_of_a_round_are_in_the_queue_at_once_and_in_order() -> None:
    @tool
    def note(n: int) -> int:
        "Write a number down."
        return n

    with ScriptedWire([[call("note", n=n) for n in range(5)], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[note])
        approver = chat.approver = AtOnce(chat, 5)
        turn = chat.send("Go")

    assert approver.on_the_desk == [f'{{\n  "n": {n}\n}}' for n in range(5)]
    assert [made.status for made in turn.calls] == ["ok"] * 5


def test_synchronous_calls_run_in_order_whichever_was_approved_first() -> None:
    ran: list[int] = []

    @tool
    def note(n: int) -> None:
        "Write a number down."
        ran.append(n)

    with ScriptedWire([[call("note", n=n) for n in range(4)], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[note])
        chat.approver = AtOnce(chat, 4, Approved(), Denied("not this one"), Approved(), Approved())
        turn = chat.send("Go")

    assert ran == [0, 2, 3]
    assert [made.status for made in turn.calls] == ["ok", "denied", "ok", "ok"]


def test_what_an_earlier_call_changed_is_asked_about_again_before_the_next_one_runs() -> None:
    log: list[int] = [1]
    seen: list[list[int]] = []

    @tool
    def grow() -> None:
        "Add to the log."
        log.append(2)

    @tool
    def read(log: Any) -> str:
        "Read the log."
        seen.append(list(log))
        return "read"

    with ScriptedWire([[call("grow"), call("read", log="$VAR_REF{{log}}")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[grow, read])
        chat.expose(log=log)
        approver = chat.approver = AtOnce(chat, 2)
        turn = chat.send("Go")

    assert [question.tool for question in approver.questions] == ["grow", "read", "read"]
    assert len({question.digest for question in approver.questions}) == 3
    assert seen == [[1, 2]]
    assert [made.status for made in turn.calls] == ["ok", "ok"]


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "without a run of it"])
def test_a_change_of_a_tools_data_is_asked_about_again_unless_an_approved_run_of_the_tool_made_it(runs: bool) -> None:
    log: list[int] = []
    signals = Signals()

    @tool
    async def note(n: int) -> int:
        "Write a number down; the first run ends after the second one has started."
        log.append(n)
        signals.changed.set()
        if n == 2:
            signals.second_has_started.set()
        await asyncio.to_thread(signals.second_has_started.wait, 240)
        return n

    questions: list[int] = []

    def decide(question: Question) -> Decision:
        number = json.loads(question.shown)["n"]
        questions.append(number)
        if number == 1:
            return Approved() if runs else Denied("not this one")
        if runs:
            assert signals.changed.wait(240)
        elif not log:
            log.append(0)
        return Approved()

    with ScriptedWire([[call("note", n=1), call("note", n=2)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[note], approver=decide).send("Go")

    assert [made.status for made in turn.calls] == ["ok" if runs else "denied", "ok"]
    assert sorted(questions) == ([1, 2] if runs else [1, 2, 2])


def test_a_call_that_nobody_is_asked_about_waits_for_those_before_it() -> None:
    ran: list[str] = []

    @tool
    def write() -> None:
        "Write."
        ran.append("write")

    @tool(run="auto")
    def read() -> None:
        "Read."
        ran.append("read")

    with ScriptedWire([[call("write"), call("read")], "Done."]) as wire:
        Chat(wire=wire, tools=[write, read], approver=lambda _: Approved()).send("Go")

    assert ran == ["write", "read"]


def test_an_asynchronous_call_waits_for_no_other_and_holds_up_none() -> None:
    over = threading.Event()

    @tool(run="auto")
    async def last() -> str:
        "End when the other has."
        return "last" if await asyncio.to_thread(over.wait, 240) else "never"

    @tool(run="auto")
    def first() -> str:
        "End at once."
        over.set()
        return "first"

    with ScriptedWire([[call("last"), call("first")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[last, first]).send("Go")

    assert [made.result for made in turn.calls] == ["last", "first"]


def test_a_call_that_fails_before_its_gate_lets_the_next_ones_go_on() -> None:
    @tool
    def note(n: int) -> int:
        "Write a number down."
        return n

    with ScriptedWire([[call("nothing"), call("note", n="x"), call("note", n=3)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[note], approver=lambda _: Approved()).send("Go")

    assert [made.status for made in turn.calls] == ["not_found", "invalid", "ok"]
