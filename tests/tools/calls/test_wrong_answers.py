"""What a person's own functions answer in place of a decision: everything fails closed, and the person is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, Released, Turn, Withheld, tool
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import Approver, Question, Undecided

ran: list[int] = []


@tool
def pay(x: int) -> int:
    """Pay."""
    ran.append(x)
    return x


@tool(run="auto", result="always")
def read_secret() -> str:
    """Read."""
    return "SECRET"


def answering(answer: Any) -> Callable[[Question], Any]:
    return lambda _: answer


def answering_async(answer: Any) -> Callable[[Question], Any]:
    async def ask(_: Question) -> Any:
        return answer

    return ask


class Answering:
    """An approver object."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, _: Question) -> Any:
        return self.answer


def ask_for(function: Any, name: str, approver: Any, **arguments: Any) -> tuple[Turn, ScriptedWire]:
    ran.clear()
    with ScriptedWire([call(name, **arguments), "Ok."]) as wire:
        return Chat(wire=wire, tools=[function], approver=approver).send("Go."), wire


NO_DECISION = [
    None, True, False, 1, 0.0, "yes", "", b"yes", [], {}, [Approved()], {"approved": True}, Approved, Denied, ...,
    Question,
]  # fmt: skip


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("make", [answering, answering_async, Answering])
@pytest.mark.parametrize("answer", NO_DECISION, ids=repr)
def test_what_is_no_decision_denies_the_call_and_the_notice_names_it(
    make: Callable[[Any], Approver], answer: Any
) -> None:
    turn, _ = ask_for(pay, "pay", make(answer), x=1)

    assert (turn.calls[0].status, ran) == ("denied", [])
    (notice,) = turn.notices
    assert "`pay`" in notice.text
    assert "Approved" in notice.text
    assert "Denied" in notice.text


@pytest.mark.parametrize("make", [answering, answering_async, Answering])
@pytest.mark.parametrize("answer", [*NO_DECISION, Released, Withheld], ids=repr)
def test_what_is_no_decision_withholds_a_result(make: Callable[[Any], Approver], answer: Any) -> None:
    turn, wire = ask_for(read_secret, "read_secret", make(answer))

    assert turn.calls[0].status == "withheld"
    assert "SECRET" not in repr(wire.prompts)
    assert "Released" in turn.notices[0].text
    assert "Withheld" in turn.notices[0].text


@pytest.mark.parametrize("answer", [None, True, "yes", Approved], ids=repr)
def test_a_scripted_approver_with_a_wrong_answer_is_refused_or_denies(answer: Any) -> None:
    turn, _ = ask_for(pay, "pay", ScriptedApprover([lambda _: answer]), x=1)

    assert (turn.calls[0].status, ran) == ("denied", [])


def test_a_decision_for_the_other_gate_denies() -> None:
    turn, _ = ask_for(pay, "pay", answering(Released()), x=1)

    assert (turn.calls[0].status, ran) == ("denied", [])


def test_an_approver_may_leave_the_decision_to_the_queue() -> None:
    asked = threading.Event()

    def ask(_: Question) -> Undecided:
        asked.set()
        return Undecided()

    with ScriptedWire([call("pay", x=1), "Ok."]) as wire:
        chat = Chat(wire=wire, tools=[pay], approver=ask)
        turn = chat.start("Go.")
        assert asked.wait(240)
        chat.approvals.decide(chat.approvals.pending()[0].digest, Approved())
        turn.done.result(240)

    assert turn.calls[0].status == "ok"


def test_an_approver_that_decides_by_the_queue_and_returns_nothing_has_decided() -> None:
    with ScriptedWire([call("pay", x=1), "Ok."]) as wire:
        chat = Chat(wire=wire, tools=[pay])
        chat.approver = lambda question: chat.approvals.decide(question.digest, Approved())  # type: ignore[assignment, func-returns-value]  # what is tested
        turn = chat.send("Go.")

    assert (turn.calls[0].status, turn.notices) == ("ok", ())


NO_MODE = [None, True, 1, "yes", "AUTO", "", ["auto"], print, Approved(), Approved]


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("answer", NO_MODE, ids=repr)
def test_a_policy_that_answers_no_mode_denies_the_call_and_the_person_reads_why(answer: Any) -> None:
    turn, wire = ask_for(tool(pay, run=lambda _: answer), "pay", answering(Approved()), x=1)

    assert (turn.calls[0].status, ran) == ("denied", [])
    (notice,) = turn.notices
    assert notice.text.startswith("`pay`: ")
    assert "run=" in notice.text
    assert notice.text.endswith("'auto', 'ask_first', 'ask_once', 'ask_always'.")
    assert "run=" not in wire.prompts[-1].messages[-1].results[0].text


@pytest.mark.parametrize("answer", NO_MODE, ids=repr)
def test_a_policy_that_answers_no_mode_withholds_the_result(answer: Any) -> None:
    read = tool(read_secret, run="auto", result=lambda _: answer)

    turn, wire = ask_for(read, "read_secret", answering(Released()))

    assert turn.calls[0].status == "withheld"
    assert "SECRET" not in repr(wire.prompts)
    assert turn.notices[0].text.endswith("'never', 'on_error', 'always', 'reference'.")


class Guard:
    """A plugin that guards the starts of calls."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def may_start(self, _: str) -> Any:
        return self.answer


class AsyncGuard:
    """A guard that nobody awaits."""

    async def may_start(self, _: str) -> bool:
        return False


@pytest.mark.parametrize("guard", [Guard(None), Guard("no"), Guard(1), Guard([False]), AsyncGuard()])
def test_a_guard_that_answers_no_truth_value_lets_no_call_start(guard: object) -> None:
    ran.clear()
    with ScriptedWire([call("pay", x=1), "Ok."]) as wire:
        turn = Chat(wire=wire, tools=[pay], approver=answering(Approved()), plugins=[guard]).send("Go.")  # type: ignore[list-item]  # a guard has no hook

    assert (turn.calls[0].status, ran) == ("not_run", [])
    assert "may_start returned" in turn.calls[0].reason


@pytest.mark.parametrize("answer", [5, "clean up", [print], Guard])
def test_a_clean_up_that_cannot_be_called_ends_the_turn(answer: Any) -> None:
    class Beginning:
        def on_turn_start(self, _: object) -> Any:
            return answer

    turn = Chat(wire=ScriptedWire(["Ok."]), plugins=[Beginning()]).send("Go.")

    assert turn.status == "error"
    assert "Beginning" in str(turn.error)


@pytest.mark.parametrize("answer", [None, "pay", 5, [5], {"pay": 1}])
def test_a_choice_of_tools_that_is_no_list_of_names_ends_the_turn(answer: Any) -> None:
    chat = Chat(wire=ScriptedWire(["Ok."]), tools=[pay])
    chat.choose_tools = lambda _: answer

    turn = chat.send("Go.")

    assert turn.status == "error"
    assert "choose_tools returned" in str(turn.error)


@pytest.mark.parametrize("answer", [None, 5, b"x"])
def test_rules_that_are_no_text_are_refused_and_nothing_is_sent(answer: Any) -> None:
    from nbtool import Toolset

    wire = ScriptedWire(["Ok."])
    chat = Chat(wire=wire, tools=[Toolset("bank", [pay], rules=lambda _: answer)])

    turn_or_error: Any
    try:
        turn_or_error = chat.send("Go.").error
    except Exception as error:  # noqa: BLE001 - where it is refused is not what is tested
        turn_or_error = error

    assert "'bank'" in str(turn_or_error)
    assert wire.prompts == []
