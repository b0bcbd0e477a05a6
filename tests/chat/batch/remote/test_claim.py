"""The claim of a prompt is taken when its first call starts, and not while that waits for a decision."""

from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.chat.batch.remote import CallClaim, HomeCheck
from nbtool.chat.batch.remote.call_claim import NOT_REPEATED
from nbtool.errors import Cancelled, WorkerLost
from nbtool.testing import ScriptedWire, call
from nbtool.threads.loop import wait_for_future
from nbtool.tools.approval import Approved, Decision, Question


def test_a_call_without_the_claim_does_not_run_and_its_turn_ends_before_the_next_request() -> None:
    ran: list[int] = []

    @tool(run="auto")
    def act(n: int) -> None:
        """Act."""
        ran.append(n)

    claim = CallClaim(lambda: False)
    with ScriptedWire([[call("act", n=1), call("act", n=2)]]) as wire:
        turn = Chat(wire=wire, tools=[act], plugins=[claim]).start("go")
        wait_for_future(turn.done, 30)

    assert ran == []
    assert claim.is_refused
    assert turn.status == "error"
    assert isinstance(turn.error, WorkerLost)
    assert NOT_REPEATED in str(turn.error)
    assert [one.status for one in turn.calls] == ["not_run", "not_run"]
    assert not any(one.started for one in turn.calls)


def broken() -> bool:
    raise OSError("the scheduler is gone")


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize(("plugin", "error"), [(CallClaim(broken), WorkerLost), (HomeCheck(broken), Cancelled)])
def test_a_turn_whose_claim_nobody_could_be_asked_for_ends_without_an_answer(
    plugin: object, error: type[Exception]
) -> None:
    ran: list[int] = []

    @tool(run="auto")
    def act(n: int) -> None:
        """Act."""
        ran.append(n)

    with ScriptedWire([call("act", n=1)]) as wire:
        turn = Chat(wire=wire, tools=[act], plugins=[plugin]).start("go")
        wait_for_future(turn.done, 30)

    assert ran == []
    assert isinstance(turn.error, error)
    assert NOT_REPEATED not in str(turn.error)
    assert [one.status for one in turn.calls] == ["not_run"]
    assert not getattr(plugin, "is_refused", False)


def test_the_claim_is_taken_once_after_the_decision_and_not_for_tools_that_only_read() -> None:
    order: list[str] = []

    @tool
    def act(n: int) -> int:
        """Act."""
        return n

    def approve(question: Question) -> Decision:
        order.append(f"asked {question.arguments['n']}")
        return Approved()

    def take() -> bool:
        order.append("claimed")
        return True

    claim = CallClaim(take, frozenset(["ListVars"]))
    assert claim.may_start("ListVars")
    with ScriptedWire([call("act", n=1), call("act", n=2), "done"]) as wire:
        Chat(wire=wire, tools=[act], plugins=[claim], approver=approve).send("go")

    assert order == ["asked 1", "claimed", "asked 2"]
