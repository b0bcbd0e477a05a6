"""What runs is what was shown: the arguments, the tool and the objects, all as they were when a person approved."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved, Denied
from nbtool.testing import ScriptedApprover
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import PAY_CELL


@pytest.mark.promise("shown-is-run")
def test_the_question_shows_the_tool_and_its_arguments_in_full(model: Provider) -> None:
    text = "long " * 2_000

    def send(text: str) -> str:
        "Send a text."
        return "sent"

    model.say(call("send", text=text), "Sent.")

    with ScriptedApprover([("send", Approved())]) as person:
        model.chat(tools=[send], approver=person).send("Send it.")

    assert text in person.questions[0].shown


@pytest.mark.promise("shown-is-run")
def test_arguments_that_a_person_edits_run_exactly_so(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=100), "Paid.")

    turn = model.chat(tools=[pay], approver=lambda question: Approved({"amount": 1})).send("Pay 100.")

    assert (paid, turn.calls[0].result) == ([1], "paid 1")
    assert "paid 1" in model.requests[1].text


@pytest.mark.promise("shown-is-run")
def test_edited_arguments_that_do_not_fit_do_not_run(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=100), "I may not.")

    turn = model.chat(tools=[pay], approver=lambda question: Approved({"amount": "much"})).send("Pay 100.")

    assert (turn.calls[0].status, paid) == ("denied", [])


@pytest.mark.promise("shown-is-run")
def test_an_object_that_changes_while_the_question_waits_is_asked_about_again(model: Provider, paid: list[Any]) -> None:
    basket = ["tea"]
    questions: list[Any] = []

    def buy(things: list[str]) -> str:
        "Buy things."
        paid.append(list(things))
        return "bought"

    def approve(question: Any) -> Approved | Denied:
        questions.append(question)
        if len(questions) == 1:
            basket.append("a car")
            return Approved()
        return Denied("not that")

    model.say(call("buy", things="$VAR_REF{{basket}}"), "I may not.")
    chat = model.chat(tools=[buy], approver=approve)
    chat.expose(basket=basket)

    turn = chat.send("Buy them.")

    assert (len(questions), turn.calls[0].status, paid) == (2, "denied", [])
    assert questions[0].digest != questions[1].digest


RATED_CELL = PAY_CELL.replace("paid.append(amount)", "paid.append(amount * rate)") + "rate = 1\n"
REDEFINED_CELL = PAY_CELL.replace("paid.append(amount)", "paid.append(amount * 100)").replace("paid = []\n", "")


def decide_after(notebook: Notebook, change: str, asked: list[Any]) -> Any:
    """Make an approver in whose notebook something changes before it approves; what is asked once more is denied."""

    def decide(question: Any) -> Approved | Denied:
        asked.append(question)
        notebook.run(change)
        return Approved() if len(asked) == 1 else Denied("changed")

    return decide


@pytest.mark.promise("shown-is-run")
def test_a_global_of_a_tool_that_changes_while_the_question_waits_is_asked_about_again(
    notebook: Notebook, model: Provider
) -> None:
    notebook.run(RATED_CELL)
    asked: list[Any] = []
    model.say(call("pay", amount=1), "I may not.")

    turn = model.chat(tools=[notebook.names["pay"]], approver=decide_after(notebook, "rate = 100", asked)).send("Pay.")

    assert (len(asked), turn.calls[0].status, notebook.names["paid"]) == (2, "denied", [])


@pytest.mark.promise("shown-is-run")
def test_a_tool_that_is_redefined_while_the_question_waits_runs_as_it_was_shown(
    notebook: Notebook, model: Provider
) -> None:
    notebook.run(RATED_CELL)
    asked: list[Any] = []
    model.say(call("pay", amount=1), "Paid.")

    turn = model.chat(tools=[notebook.names["pay"]], approver=decide_after(notebook, REDEFINED_CELL, asked)).send(
        "Pay."
    )

    assert (len(asked), turn.calls[0].status, notebook.names["paid"]) == (1, "ok", [1])


@pytest.mark.promise("shown-is-run")
def test_an_approver_cannot_change_the_arguments_behind_the_question(model: Provider, paid: list[Any]) -> None:
    things = ["tea"]

    def buy(things: list[str]) -> str:
        "Buy things."
        paid.append(list(things))
        return "bought"

    def approve(question: Any) -> Approved:
        question.arguments["things"].append("a car")
        return Approved()

    model.say(call("buy", things=things), "Bought.")

    model.chat(tools=[buy], approver=approve).send("Buy them.")

    assert paid == [["tea"]]
