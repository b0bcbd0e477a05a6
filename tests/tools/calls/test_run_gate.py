from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from nbtool import Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from nbtool.tools.approval import Approved, Decision, Denied, Question
from nbtool.tools.tool import Tool, as_tools
from nbtool.tools.toolset import Toolset
from tests.tools.calling import ask_for, make_harness


def test_a_tool_that_became_another_before_its_turn_is_checked_again() -> None:
    offered: dict[str, Tool] = {}
    (second,) = as_tools(tool(lambda n: f"second {n}", name="swap", run="auto"))

    def first(n: int) -> str:
        offered["swap"] = second
        return f"first {n}"

    (offered["swap"],) = as_tools(tool(first, name="swap", run="auto"))

    class Swapping(Toolset):
        """Offers one tool, and another after that was called."""

        def tools(self) -> dict[str, Tool]:
            return dict(offered)

        def get(self, name: str) -> Tool:
            return offered[name]

    with ScriptedWire([[call("swap", n=1), call("swap", n=2)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[Swapping("swapping")]).send("Go.")

    assert [record.result for record in turn.calls] == ["first 1", "second 2"]


@pytest.mark.promise("shown-is-run")
def test_a_tool_whose_policy_became_stricter_before_its_turn_is_asked_about() -> None:
    ran: list[str] = []

    def first() -> str:
        chat.tools.add(tool(second, sensitive=True))
        return "first"

    def second() -> str:
        ran.append("second")
        return "second"

    with ScriptedWire([[call("first"), call("second")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[tool(first, run="auto"), tool(second, run="auto")])
        turn = chat.send("Go.")

    assert [record.status for record in turn.calls] == ["ok", "denied"]
    assert ran == []


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("run", ["ask_once", "ask_always"])
@pytest.mark.parametrize("remember", ["", "call", "tool"])
def test_an_edit_that_sends_closed_values_to_a_server_is_asked_about_as_such(run: Any, remember: Any) -> None:
    sent: list[object] = []
    (upload,) = as_tools(tool(sent.append, name="upload", run=run))
    edit = Approved(arguments={"object": "$VAR_REF{{closed}}"}, remember=remember)
    decisions: list[Decision] = [edit, Approved(), Approved()]
    questions: list[Question] = []

    def ask(question: Question) -> Decision:
        questions.append(question)
        return decisions[len(questions) - 1]

    with ScriptedWire(
        [call("upload", object="plain"), "Done.", call("upload", object="$VAR_REF{{closed}}"), "Done."]
    ) as wire:
        chat = Chat(wire=wire, tools=[replace(upload, sends_to="server")], approver=ask)
        chat.expose(closed="the secret")
        chat.send("Go.")
        chat.send("Again.")

    assert [(question.sensitive, "closed" in question.notice) for question in questions] == [
        (False, False),
        (True, True),
        (True, True),
    ]
    assert sent == ["the secret"] * 2


@pytest.mark.promise("fails-closed")
def test_an_edited_call_is_remembered_only_if_its_policy_allows_that_for_the_edited_arguments() -> None:
    questions: list[Question] = []

    def ask(question: Question) -> Decision:
        questions.append(question)
        return Approved(arguments={"amount": 900}) if len(questions) == 1 else Approved()

    pay_tool = tool(pay, run=lambda arguments: "ask_once" if arguments["amount"] < 100 else "ask_always")
    with ScriptedWire([call("pay", amount=1), "Done.", call("pay", amount=900), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[pay_tool], approver=ask)
        chat.send("Pay 1.")
        chat.send("Pay 900.")

    assert len(questions) == 2


def pay(amount: int) -> str:
    return f"paid {amount}"


@pytest.mark.promise("fails-closed")
def test_a_decision_with_an_unknown_scope_is_a_denial_with_the_reason() -> None:
    def ask(_: Question) -> Decision:
        return Approved(remember="forever")  # type: ignore[arg-type]  # what an approver may return

    with ScriptedWire([call("pay", amount=1), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[pay], approver=ask).send("Go.")

    assert (turn.calls[0].status, "'forever'" in turn.calls[0].reason) == ("denied", True)


@pytest.mark.promise("typed-errors")
def test_a_reason_that_cannot_be_encoded_does_not_reach_the_model_as_written() -> None:
    with ScriptedWire([call("pay", amount=1), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[pay], approver=lambda _: Denied("\ud800")).send("Go.")

    assert turn.calls[0].shown.endswith("Reason: \ufffd")
    assert turn.calls[0].reason == "\ufffd"


def test_a_call_whose_tool_cannot_be_read_in_time_is_not_asked_about() -> None:
    paid = {str(number) for number in range(5_000)}

    def pay(amount: int) -> str:
        return f"paid {amount in paid}"

    harness = make_harness(tool(pay), bind_seconds=0.0)
    record = harness.run(ask_for("pay", amount=3))

    assert (record.status, "'pay'" in record.shown) == ("invalid", True)
    assert "gate" not in harness.kinds()


@pytest.mark.sampled(0)
def test_a_change_by_another_call_that_could_not_be_read_asks_again() -> None:
    paid = {str(number) for number in range(5_000)}
    is_second_asked = threading.Event()
    questions: list[int] = []

    def pay(amount: int) -> str:
        paid.add(f"amount {amount}")
        harness.runtime.bind_seconds = 0.0
        return "paid"

    async def approve(question: Question) -> Decision:
        questions.append(question.arguments["amount"])
        if question.arguments["amount"] == 1:
            assert await asyncio.to_thread(is_second_asked.wait, 240)
        else:
            is_second_asked.set()
            assert await asyncio.to_thread(harness.has_finished.wait, 240)
            harness.runtime.bind_seconds = 30.0
        return Approved()

    harness = make_harness(tool(pay), approver=approve, bind_seconds=30.0)
    records = harness.run_lent(ask_for("pay", amount=1), ask_for("pay", amount=2))

    assert [record.status for record in records] == ["ok", "ok"]
    assert questions.count(1) == 1
    assert questions.count(2) == 2
