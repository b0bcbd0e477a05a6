"""A model reviews calls before the person is asked: it approves by the person's rules, or hands on; nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool import Approved, Reviewer, tool
from nbtool.errors import BadUsage
from tests.contract.notebook import Kernel
from tests.contract.simulator import MODEL, Provider, call

FEATURE = "let a model review calls first"


def answer(decision: str, reason: str) -> str:
    return json.dumps({"decision": decision, "reason": reason})


@pytest.mark.promise("reviewer-approves-only")
@pytest.mark.feature(FEATURE)
def test_a_reviewer_approves_by_the_rules_and_its_reason_is_at_the_call(
    model: Provider, pay: Any, paid: list[Any]
) -> None:
    model.say(call("pay", amount=1), answer("approve", "It is below 5."), "Paid.")
    reviewer = Reviewer(model.chat(), rules="Approve payments below 5.")

    turn = model.chat(tools=[pay], approver=reviewer).send("Pay 1.")

    assert (paid, turn.text) == ([1], "Paid.")
    assert turn.calls[0].decisions[0].by == "reviewer"
    assert "It is below 5." in turn.calls[0].decisions[0].reason
    assert "Approve payments below 5." in model.requests[1].text
    assert model.requests[1].tools == []
    assert reviewer.usage.total_tokens > 0


@pytest.mark.promise("reviewer-approves-only")
@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize(
    "reply", [answer("hand_on", "It pays."), answer("deny", "No."), "approve", '{"decision": "approve"}']
)
def test_everything_else_is_handed_on(model: Provider, pay: Any, paid: list[Any], reply: str) -> None:
    model.say(call("pay", amount=1), reply, "Paid.")
    asked: list[Any] = []

    def approve(question: Any) -> Approved:
        asked.append(question)
        return Approved()

    reviewer = Reviewer(model.chat(), rules="Approve nothing.", then=approve)
    turn = model.chat(tools=[pay], approver=reviewer).send("Pay 1.")

    assert (paid, len(asked), turn.text) == ([1], 1, "Paid.")
    assert asked[0].notes


@pytest.mark.promise("reviewer-approves-only")
def test_a_sensitive_tool_and_a_result_are_not_reviewed(model: Provider, paid: list[Any]) -> None:
    @tool(sensitive=True, result="always")
    def pay(amount: int) -> int:
        "Pay an amount."
        paid.append(amount)
        return amount

    model.say(call("pay", amount=1), "No.")
    asked: list[str] = []

    def deny(question: Any) -> Any:
        asked.append(question.gate)
        return question.denial("No.")

    model.chat(tools=[pay], approver=Reviewer(model.chat(), rules="Approve all.", then=deny)).send("Pay 1.")

    assert (paid, asked, len(model.requests)) == ([], ["run"], 2)


@pytest.mark.feature(FEATURE)
def test_in_a_cell_the_person_decides_what_is_handed_on(kernel: Kernel, kernel_model: Provider) -> None:
    kernel_model.say(call("pay", amount=1), answer("hand_on", "It pays real money."), "Paid.")
    kernel.run(
        "from nbtool import Chat, Reviewer, tool\npaid = []\n@tool\ndef pay(amount: int) -> int:\n    'Pay.'\n"
        "    paid.append(amount)\n    return amount\n"
        f"careful = Chat('ollama:{MODEL}', tools=[pay], approver=Reviewer(rules='Approve nothing.'))"
    )

    output = kernel.run("%%chat -c careful --approve input\nPay 1.", ["y"])

    assert kernel.run("print(paid)").text.strip() == "[1]"
    assert "It pays real money." in output.everything + "".join(output.inputs)


@pytest.mark.feature(FEATURE)
def test_a_reviewer_needs_rules() -> None:
    with pytest.raises(BadUsage, match="rules"):
        Reviewer("openai:gpt-5-mini", rules="")
