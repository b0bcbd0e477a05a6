"""The second gate: what a person takes out, changes or holds back never reaches the model, and the model is told so."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved, Chat, Released, Withheld, tool
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, call
from nbtool.tools.calls.result import EDITED_NOTICE
from tests.security.model import answers, model, sent_text

SECRET = "SENTINEL"


@tool(run="auto", result="always")
def record(n: int) -> dict[str, Any]:
    """Look up a record."""
    return {"n": n, "name": f"{SECRET}-{n}"}


@tool(run="auto", result="always")
def report(n: int) -> str:
    """Fail, and say more than it should."""
    raise ValueError(f"{SECRET}-{n} is no number")


@pytest.mark.promise("withheld")
def test_a_withheld_result_is_a_valid_answer_with_the_same_call_id() -> None:
    asked = ToolCall("record", '{"n": 1}', "call_of_the_provider")
    steps = ([asked], call("ReadVar", name="record_1_result"), call("ListVars"), "I see.", "Still.")
    with model(*steps) as server, ScriptedApprover([Withheld("personal data")]) as approver:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[record], approver=approver)
        turn = chat.send("Look up 1.")
        chat.send("Tell me.")

    assert answers(server, 1) == {"call_of_the_provider": "The user withheld its result. Reason: personal data"}
    assert [made.status for made in turn.calls] == ["withheld", "error", "ok"]
    assert turn.calls[0].result == {"n": 1, "name": f"{SECRET}-1"}
    assert (turn.status, turn.text) == ("completed", "I see.")
    assert SECRET not in sent_text(server)


@pytest.mark.promise("withheld")
def test_an_edited_result_is_all_that_leaves_and_is_marked_in_the_record() -> None:
    steps = (call("record", n=1), call("ReadVar", name="record_1_result"), "I see.", "Still.")
    with model(*steps) as server, ScriptedApprover([Released('{"n": 1, "name": "…"}')]) as approver:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[record], approver=approver)
        turn = chat.send("Look up 1.")
        chat.send("Tell me.")

    (decided,) = turn.calls[0].decisions
    assert (decided.verdict, decided.edited) == ("released", True)
    assert answers(server, 1)["call_0"] == '{"n": 1, "name": "…"}'
    assert turn.calls[1].shown == '{"n": 1, "name": "…"}'
    assert turn.calls[0].result == {"n": 1, "name": f"{SECRET}-1"}
    assert SECRET not in sent_text(server)


def test_each_result_of_a_round_is_decided_for_itself() -> None:
    calls = [ToolCall("record", f'{{"n": {n}}}', f"id_{n}") for n in (1, 2, 3)]

    def decide(question: Any) -> Released | Withheld:
        return Withheld("not this one") if f"{SECRET}-2" in question.shown else Released()

    with model(calls, "I see.") as server:
        turn = Chat("ollama:tiny", base_url=server.url, tools=[record], approver=decide).send("Look up all.")

    assert [made.status for made in turn.calls] == ["ok", "withheld", "ok"]
    assert list(answers(server)) == ["id_1", "id_2", "id_3"]
    assert f"{SECRET}-2" not in sent_text(server)
    assert f"{SECRET}-3" in sent_text(server)


def test_an_error_passes_the_same_gate() -> None:
    with model(call("report", n=1), "I see.") as server, ScriptedApprover([Withheld("names a person")]) as approver:
        turn = Chat("ollama:tiny", base_url=server.url, tools=[report], approver=approver).send("Go.")

    assert turn.calls[0].status == "withheld"
    assert answers(server)["call_0"] == ("The user withheld the text of its error (ValueError). Reason: names a person")
    assert SECRET not in sent_text(server)


def test_edited_arguments_run_in_place_of_those_that_were_asked_for() -> None:
    ran: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"Paid {amount}."

    with model(call("pay", amount=500), "Paid.") as server, ScriptedApprover([Approved({"amount": 5})]) as approver:
        turn = Chat("ollama:tiny", base_url=server.url, tools=[pay], approver=approver).send("Pay.")

    assert (ran, answers(server)) == ([5], {"call_0": f"{EDITED_NOTICE}\nPaid 5."})
    assert (turn.calls[0].arguments, turn.calls[0].edited) == ('{"amount": 500}', '{"amount": 5}')
    assert turn.calls[0].decisions[0].edited
