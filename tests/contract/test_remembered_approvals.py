"""A remembered approval covers the same tool with the same arguments and objects; what changed since is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved, Denied, Toolset
from nbtool.testing import ScriptedApprover
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import PAY_CELL


@pytest.mark.promise("once")
def test_a_remembered_approval_covers_the_same_arguments_only(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), call("pay", amount=1), call("pay", amount=2), "Done.")

    with ScriptedApprover([Approved(remember="call"), Denied()]) as person:
        turn = model.chat(tools=[pay], approver=person).send("Pay.")

    assert [one.status for one in turn.calls] == ["ok", "ok", "denied"]
    assert paid == [1, 1]


@pytest.mark.promise("once")
def test_a_remembered_approval_of_a_tool_covers_every_call_of_it(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), call("pay", amount=2), "Done.")

    with ScriptedApprover([Approved(remember="tool")]) as person:
        model.chat(tools=[pay], approver=person).send("Pay.")

    assert (len(person.questions), paid) == (1, [1, 2])


@pytest.mark.promise("fails-closed")
def test_denying_everything_in_a_cell_overrides_what_is_remembered(notebook: Notebook, model: Provider) -> None:
    notebook.run(PAY_CELL)
    notebook.run(
        "from nbtool import Approved, Chat\n"
        "lab = Chat(tools=[pay], approver=lambda question: Approved(remember='tool'))"
    )
    model.say(call("pay", amount=1), "Paid.", call("pay", amount=2), "I may not.")
    notebook.names["lab"].send("Pay.")

    turn = notebook.ask("Pay again.", "-c lab --approve deny")

    assert (turn.calls[0].status, notebook.names["paid"]) == ("denied", [1])


OTHER_CELLS = {
    "the same once more": (PAY_CELL, 1),
    "another body": (PAY_CELL.replace("paid.append(amount)", "paid.append(amount * 100)"), 2),
    "another default": (PAY_CELL.replace("amount: int", "amount: int, currency: str = 'USD'"), 2),
    "another helper": (PAY_CELL + "def say(amount):\n    return f'all of {amount} paid'", 2),
}


@pytest.mark.promise("once")
@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("remember", ["call", "tool"])
@pytest.mark.parametrize("change", OTHER_CELLS)
def test_a_remembered_approval_covers_a_redefined_tool_only_if_it_is_the_same(
    notebook: Notebook, model: Provider, remember: Any, change: str
) -> None:
    cell, questions = OTHER_CELLS[change]
    helped = 'return f"paid {amount}"', "return say(amount)"
    notebook.run("def say(amount):\n    return f'paid {amount}'\n" + PAY_CELL.replace(*helped))
    model.say(call("pay", amount=1), "Paid.", call("pay", amount=1), "Paid.", call("pay", amount=1), "Done.")

    with ScriptedApprover([Approved(remember=remember), Denied("not this one")][:questions]) as person:
        chat = model.chat(tools=[notebook.names["pay"]], approver=person)
        assert [chat.send("Pay.").calls[0].status for _ in range(2)] == ["ok", "ok"]
        notebook.run(cell.replace(*helped))
        chat.tools = Toolset("shop", [notebook.names["pay"]])
        status = chat.send("Pay.").calls[0].status

    assert status == ("ok" if questions == 1 else "denied")


@pytest.mark.promise("once")
@pytest.mark.promise("shown-is-run")
def test_a_remembered_approval_does_not_cover_an_object_that_has_changed(model: Provider) -> None:
    basket, bought = ["tea"], []

    def buy(things: list[str]) -> str:
        "Buy things."
        bought.append(list(things))
        return "bought"

    model.say(*[call("buy", things="$VAR_REF{{basket}}"), "Done."] * 3)

    with ScriptedApprover([Approved(remember="call"), Denied("not a car")]) as person:
        chat = model.chat(tools=[buy], approver=person)
        chat.expose(basket=basket)
        assert [chat.send("Buy it.").calls[0].status for _ in range(2)] == ["ok", "ok"]
        basket.append("a car")

        assert chat.send("Buy it.").calls[0].status == "denied"

    assert (len(person.questions), bought) == (2, [["tea"], ["tea"]])


@pytest.mark.promise("once")
def test_a_remembered_approval_of_one_chat_is_none_of_another(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), "Paid.", call("pay", amount=1), "I may not.")
    model.chat(tools=[pay], approver=lambda question: Approved(remember="tool")).send("Pay.")

    turn = model.chat(tools=[pay]).send("Pay.")

    assert (turn.calls[0].status, paid) == ("denied", [1])
