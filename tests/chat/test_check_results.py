"""One switch asks about every result: of a chat, of a turn, of the notebook."""

from __future__ import annotations

import pytest

from nbtool import Chat, Released, Withheld, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.subchat import subchat
from nbtool.messages import Message
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Approved, Decision, Question


@tool(run="auto")
def look() -> str:
    "Look."
    return "a result"


@tool(run="auto")
def fail() -> str:
    "Fail."
    raise ValueError("a reason")


class WithholdingApprover:
    """Withholds every result and notes what was asked."""

    def __init__(self) -> None:
        self.gates: list[tuple[str, str]] = []

    def ask(self, question: Question) -> Decision:
        self.gates.append((question.tool, question.gate))
        return Approved() if question.gate == "run" else Withheld("no")


def results(messages: list[Message] | tuple[Message, ...]) -> str:
    return " ".join(result.text for message in messages for result in message.results)


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("name", ["look", "fail", "ListVars"])
def test_a_chat_that_checks_results_asks_about_every_one_of_them(name: str) -> None:
    seen = WithholdingApprover()
    with ScriptedWire([call(name), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[look, fail], approver=seen, check_results=True).send("Go")

    assert seen.gates[-1] == (name, "result")
    assert turn.calls[0].status == "withheld"
    assert "a re" not in results(wire.prompts[1].messages)


@pytest.mark.parametrize(
    ("chat", "turn", "asked"), [(False, True, 1), (True, False, 0), (True, None, 1), (False, None, 0)]
)
def test_a_turn_says_otherwise_than_its_chat(chat: bool, turn: bool | None, asked: int) -> None:
    questions: list[Question] = []

    def release(question: Question) -> Decision:
        questions.append(question)
        return Released()

    with ScriptedWire([call("look"), "Done."]) as wire:
        made = Chat(wire=wire, tools=[look], approver=release, check_results=chat)  # type: ignore[arg-type]  # a plain function will do
        made.send("Go", settings=TurnSettings(check_results=turn))

    assert len(questions) == asked


def test_a_sub_chat_checks_its_results_too() -> None:
    seen = WithholdingApprover()
    inner, outer = ScriptedWire([call("look"), "Inner."]), ScriptedWire([call("ask", question="?"), "Done."])
    with inner, outer:
        ask = subchat(Chat(wire=inner), tools=[look])
        Chat(wire=outer, tools=[ask], approver=seen, check_results=True).send("Go")

    assert ("look", "result") in seen.gates
    assert ("ask", "result") in seen.gates


def test_what_a_checked_call_prints_waits_for_its_release() -> None:
    with ScriptedWire([call("look"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[look], approver=WithholdingApprover(), check_results=True).send("Go")

    assert [event.guarded for event in turn.log if event.kind == "call_started"] == [True]
