"""`result="reference"`: of the results of one tool the model gets type and shape, and passes them on by reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, Policy, Progress, Released, ToolFailed, Toolset, Withheld, tool
from nbtool.audience import for_audience
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question

SECRET = "DE89370400440532013000"
PNG = b"\x89PNG\r\n\x1a\n" + SECRET.encode()

VALUES: dict[str, Any] = {
    "a short text": SECRET,
    "a number": 89370400440532013000,
    "a long text": SECRET * 1_000,
    "a list": [SECRET, 1],
    "a dict": {"number": SECRET},
    "bytes": SECRET.encode(),
    "a frame": pd.DataFrame({"number": [SECRET]}),
    "an image": Media("image/png", data=PNG),
}


class Person:
    """Approves every call, and withholds every text."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Decision:
        self.questions.append(question)
        return Approved() if question.gate == "run" else Withheld("private")


@tool(run="auto", result="reference")
def load(kind: str) -> Any:
    "Load a value."
    if kind == "a failure":
        raise ValueError(SECRET)
    if kind == "an own failure":
        raise ToolFailed(SECRET)
    return VALUES[kind]


@tool(run="auto")
def size(value: Any) -> str:
    "Return the type of a value."
    return type(value).__name__


def send(*replies: Any, tools: Any = (load, size), **settings: Any) -> tuple[Any, Person, str]:
    """Return the turn, the person, and all that was sent to the model."""
    person = Person()
    with ScriptedWire([*replies, "Done."]) as wire:
        turn = Chat(wire=wire, tools=tools, approver=person, **settings).send("Go")
    sent = [(part, getattr(part, "media", ())) for prompt in wire.prompts for m in prompt.messages for part in m.parts]
    media = [item.data for _, items in sent for item in items]
    return turn, person, repr(sent) + repr(media)


@pytest.mark.promise("withheld")
@pytest.mark.parametrize(
    ("kind", "part"), [("a short text", "text"), ("a number", "text"), ("a dict", "text"), ("a frame", "table")]
)
def test_the_person_sees_the_value_and_neither_the_journal_nor_a_saved_notebook_has_it(kind: str, part: str) -> None:
    turn, _, _ = send(call("load", kind=kind))

    (block,) = (block for block in turn.transcript().document()["blocks"] if block["kind"] == "call")
    (finished,) = (event for event in turn.log if event.kind == "call_finished")
    value = str(VALUES["a number"]) if kind == "a number" else SECRET
    assert value in str(block["seen"][part])
    assert value not in str(for_audience(finished, "journal"))
    assert value not in str(turn._repr_mimebundle_())


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("checks", [False, True], ids=["", "check_results"])
@pytest.mark.parametrize("kind", VALUES)
def test_no_value_of_a_result_is_sent_whatever_its_size_and_nobody_is_asked(kind: str, checks: bool) -> None:
    turn, person, sent = send(call("load", kind=kind), check_results=checks)

    assert SECRET not in sent
    assert str(VALUES["a number"]) not in sent
    assert (turn.calls[0].status, turn.calls[0].images) == ("ok", ())
    assert "$VAR_REF{{load_1_result}}" in turn.calls[0].shown
    assert person.questions == []
    assert turn.calls[0].result is VALUES[kind]


@pytest.mark.promise("withheld")
def test_the_result_is_passed_on_and_cannot_be_read() -> None:
    turn, person, sent = send(
        call("load", kind="a short text"),
        call("size", value="$VAR_REF{{load_1_result}}"),
        call("ReadVar", name="load_1_result"),
    )

    assert SECRET not in sent
    assert turn.calls[1].shown == "str"
    assert [(one.tool, one.gate) for one in person.questions] == [("ReadVar", "result")]


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("kind", ["a failure", "an own failure"])
def test_the_text_of_an_error_needs_approval(kind: str) -> None:
    turn, person, sent = send(call("load", kind=kind))
    unasked = Chat(wire=ScriptedWire([call("load", kind=kind), "Done."]), tools=[load]).send("Go")

    assert SECRET not in sent
    assert [one.gate for one in person.questions] == ["result"]
    assert (turn.calls[0].status, unasked.calls[0].status) == ("withheld", "withheld")
    assert SECRET not in unasked.calls[0].shown


def test_an_error_that_a_person_releases_is_sent() -> None:
    with ScriptedWire([call("load", kind="a failure"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[load], approver=lambda _: Released()).send("Go")

    assert turn.calls[0].shown == f"ValueError: {SECRET}"


def test_a_function_decides_for_each_call() -> None:
    def mode(arguments: Mapping[str, Any]) -> Any:
        return "reference" if arguments["kind"] == "a short text" else "never"

    chosen = tool(load, run="auto", result=mode)
    turn, _, _ = send(call("load", kind="a short text"), call("load", kind="a long text"), tools=[chosen])

    assert [SECRET in one.shown for one in turn.calls] == [False, True]


def test_a_toolset_gets_the_mode_by_its_policy() -> None:
    @tool(run="auto")
    def read() -> str:
        "Read."
        return SECRET

    turn, _, sent = send(call("read"), tools=[Toolset("set", [read]).approved(Policy("auto", "reference"))])

    assert SECRET not in sent
    assert "$VAR_REF{{read_1_result}}" in turn.calls[0].shown


def test_the_progress_of_such_a_tool_is_that_of_a_guarded_call() -> None:
    @tool(run="auto", result="reference")
    def steps() -> Iterator[Progress]:
        "Work."
        yield Progress(SECRET)

    turn, _, sent = send(call("steps"), tools=[steps])

    assert SECRET not in sent
    assert [event.guarded for event in turn.log if event.kind == "call_started"] == [True]
