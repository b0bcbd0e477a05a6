"""A decision is about one call, a call has one outcome, and the first decision of a question counts."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nbtool import Approved, Denied
from nbtool.errors import AlreadyDecided
from nbtool.testing import ScriptedApprover
from tests.contract.simulator import WAIT_SECONDS, Provider, call
from tests.contract.tools import wait_for_end


@pytest.mark.promise("once")
def test_an_approval_is_for_one_call_only(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), call("pay", amount=1), "Paid once.")

    with ScriptedApprover([Approved(), Denied("once is enough")]) as person:
        turn = model.chat(tools=[pay], approver=person).send("Pay.")

    assert [one.status for one in turn.calls] == ["ok", "denied"]
    assert paid == [1]


@pytest.mark.promise("once")
def test_every_call_has_exactly_one_outcome(model: Provider, pay: Any) -> None:
    model.say([call("pay", amount=1), call("pay", amount=2), call("nowhere"), call("pay", amount="x")], "Done.")

    turn = model.chat(tools=[pay], approver=lambda question: Approved() if "1" in question.shown else Denied()).send(
        "Pay."
    )

    assert [one.status for one in turn.calls] == ["ok", "denied", "not_found", "invalid"]
    assert len({one.call_id for one in turn.calls}) == 4


@pytest.mark.promise("first-decision")
def test_the_first_decision_counts_and_a_second_one_is_refused(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), "I may not.")
    is_asked = threading.Event()
    chat = model.chat(tools=[pay], approver=_leave_open(is_asked))

    turn = chat.start("Pay.")
    assert is_asked.wait(WAIT_SECONDS)
    (question,) = chat.approvals.pending()
    chat.approvals.decide(question.digest, Denied("too much"))
    with pytest.raises(AlreadyDecided):
        chat.approvals.decide(question.digest, Approved())

    assert asyncio.run(wait_for_end(turn)).calls[0].status == "denied"
    assert paid == []


def _leave_open(is_asked: threading.Event) -> Any:
    """Make an approver that answers nothing itself; the question waits in the chat's list."""

    async def ask(question: Any) -> Any:
        is_asked.set()
        await asyncio.Event().wait()

    return ask


@pytest.mark.promise("first-decision")
def test_of_decisions_at_the_same_time_exactly_one_counts(model: Provider, pay: Any, paid: list[Any]) -> None:
    model.say(call("pay", amount=1), "Done.")
    is_asked, begin = threading.Event(), threading.Barrier(8)
    chat = model.chat(tools=[pay], approver=_leave_open(is_asked))
    turn = chat.start("Pay.")
    assert is_asked.wait(WAIT_SECONDS)
    (question,) = chat.approvals.pending()

    def decide(decision: Approved | Denied) -> str:
        begin.wait(WAIT_SECONDS)
        try:
            chat.approvals.decide(question.digest, decision)
        except AlreadyDecided:
            return "refused"
        return "denied" if isinstance(decision, Denied) else "ok"

    with ThreadPoolExecutor(8) as people:
        outcomes = list(people.map(decide, [Approved(), Denied()] * 4))

    (counted,) = [one for one in outcomes if one != "refused"]
    assert asyncio.run(wait_for_end(turn)).calls[0].status == counted
    assert paid == ([1] if counted == "ok" else [])
