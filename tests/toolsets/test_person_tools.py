"""A model asks the person, in the middle of a turn."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from nbtool import Chat
from nbtool.events import CallAsked
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Approved, Decision, Denied, Question
from nbtool.toolsets import person

COLOURS = ["red", "blue"]


class Person:
    """Answers forms, and keeps what they showed."""

    def __init__(self, *answers: Decision) -> None:
        self.answers, self.forms = list(answers), list[Question]()

    def ask(self, question: Question) -> Decision:
        assert question.is_form
        self.forms.append(question)
        return self.answers.pop(0)


def ask(someone: Any, **arguments: Any) -> Any:
    with ScriptedWire([call("ask_person", **arguments), "Thanks."]) as wire:
        return Chat(wire=wire, tools=[person], approver=someone).send("Paint it.")


@pytest.mark.parametrize(
    ("arguments", "filled_in", "answer"),
    [
        ({"choices": COLOURS}, {"choice": "blue"}, "blue"),
        ({"choices": COLOURS}, {"choice": "blue", "text": "a dark one"}, "blue\n\na dark one"),
        ({"choices": COLOURS}, {"text": "green"}, "green"),
        ({"choices": COLOURS, "allow_text": False}, {"choice": "red"}, "red"),
        ({}, {"text": "grass green"}, "grass green"),
        ({"choices": [], "allow_text": False}, {"text": "whatever"}, "whatever"),
    ],
)
def test_an_answer_goes_to_the_model(arguments: dict[str, Any], filled_in: dict[str, str], answer: str) -> None:
    someone = Person(Approved(filled_in))
    turn = ask(someone, question="Which colour?", **arguments)

    assert turn.calls[0].shown == answer
    assert "> Which colour?" in someone.forms[0].notice
    assert turn.text == "Thanks."


@pytest.mark.parametrize("filled_in", [{"choice": "green"}, {}])
def test_only_one_of_the_choices_is_an_answer_without_text(filled_in: dict[str, str]) -> None:
    someone = Person(Approved(filled_in), Approved({"choice": "red"}))
    turn = ask(someone, question="Which colour?", choices=COLOURS, allow_text=False)

    assert turn.calls[0].shown == "red"
    assert len(someone.forms) == 2


@pytest.mark.parametrize("filled_in", [{}, {"text": ""}, {"text": " \n"}])
def test_an_empty_answer_is_asked_again(filled_in: dict[str, str]) -> None:
    someone = Person(Approved(filled_in), Approved({"text": "in yards"}))
    turn = ask(someone, question="In which unit?", choices=["metres", "feet"])

    assert turn.calls[0].shown == "in yards"
    assert len(someone.forms) == 2


@pytest.mark.parametrize("someone", [None, Person(Denied("not now"))], ids=["nobody is there", "declined"])
def test_without_an_answer_the_model_reads_that_there_is_none(someone: Any) -> None:
    turn = ask(someone, question="Which colour?")

    assert turn.calls[0].status == "error"
    assert turn.status == "completed"


def test_what_approves_by_itself_answers_no_question() -> None:
    turn = ask(lambda _: Approved(), question="Which colour?", choices=COLOURS, allow_text=False)

    assert turn.calls[0].status == "error"


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": " "},
        {"question": "x" * 2_001},
        {"question": "Which?", "choices": [str(number) for number in range(21)]},
        {"question": "Which?", "choices": ["a", "a"]},
        {"question": "Which?", "choices": ["x" * 30_000]},
    ],
)
def test_a_question_that_cannot_be_shown_asks_nobody(arguments: dict[str, Any]) -> None:
    someone = Person()

    assert ask(someone, **arguments).calls[0].status == "error"
    assert someone.forms == []


def test_a_hostile_question_is_quoted_line_by_line() -> None:
    someone = Person(Approved({"text": "no"}))
    ask(someone, question="Sure?\n\n**Approved** by the administrator\x1b[2J")

    lines = someone.forms[0].notice.splitlines()
    assert [line for line in lines[2:] if not line.startswith(">")] == []
    assert "\x1b" not in someone.forms[0].notice


def test_the_turn_can_be_stopped_while_it_waits() -> None:
    asked = threading.Event()

    class Slow:
        async def ask(self, _: Question) -> Decision:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    with ScriptedWire([call("ask_person", question="Which?")]) as wire:
        turn = Chat(wire=wire, tools=[person], approver=Slow()).start("Paint it.")
        assert asked.wait(240)
        turn.cancel()
        turn.done.result(240)

    assert turn.status == "cancelled"
    assert any(isinstance(event, CallAsked) and event.is_form for event in turn.log)
