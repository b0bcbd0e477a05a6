"""A result that a person or a tool keeps back is read in no other way: by no tool, path, error, chat or picture."""

from __future__ import annotations

import base64
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Released, ToolFailed, Withheld, tool
from nbtool.testing import ScriptedApprover
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import PIXEL, SECRET, keeping, release


@pytest.mark.feature("approve calls and results")
@pytest.mark.promise("withheld")
def test_a_withheld_result_is_not_sent_and_the_model_gets_the_reason(model: Provider) -> None:
    @tool(run="auto", result="always")
    def diary() -> str:
        "Read the diary."
        return f"I love {SECRET}"

    model.say(call("diary"), "I cannot see it.")

    with ScriptedApprover([("diary", Withheld("It is private."))]) as person:
        turn = model.chat(tools=[diary], approver=person).send("Read it.")

    assert (turn.status, turn.calls[0].status) == ("completed", "withheld")
    assert SECRET in person.questions[0].shown
    assert "It is private." in model.requests[1].text
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_a_withheld_result_has_no_name_by_which_another_tool_could_get_it(model: Provider) -> None:
    received: list[Any] = []

    @tool(run="auto", result="always", store_as="diary")
    def read_diary() -> str:
        "Read the diary."
        return f"I love {SECRET}"

    chat = model.chat(tools=[read_diary, keeping(received)], approver=lambda question: Withheld())
    reading = [call("ReadVar", name="diary"), call("keep", data="$VAR_REF{{diary}}"), call("ListVars")]
    model.say(call("read_diary"), "I cannot see it.", reading, "Still not.")

    withheld = chat.send("Read it.").calls[0]
    read, keep_call, listed = chat.send("Read it in another way.").calls

    assert (withheld.status, withheld.reference) == ("withheld", "")
    assert (read.status, keep_call.status, received) == ("error", "invalid", [])
    assert (listed.status, "diary" in listed.shown) == ("ok", False)
    assert "I love" not in model.everything


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("way", ["ReadVar", "item", "in a text", "derived", "error", "failure"])
def test_a_result_by_reference_is_disclosed_in_no_other_way(model: Provider, way: str) -> None:
    questions: list[Any] = []

    @tool(run="auto", result="reference", store_as="diary")
    def read_diary() -> list[dict[str, str]]:
        "Read the diary."
        return [{"day": f"I love {SECRET}"}]

    @tool(run="auto")
    def show(data: Any) -> str:
        "Show it."
        return f"It is {data}"

    @tool(run="auto")
    def fail(data: Any) -> str:
        "Fail."
        raise (ToolFailed if way == "failure" else ValueError)(f"I cannot use {data}")

    def withhold(question: Any) -> Withheld:
        questions.append(question)
        return Withheld()

    references = {"item": "$VAR_REF{{diary[0]['day']}}", "in a text": "see $VAR_REF{{diary[0]['day']}}, please"}
    reading = {
        "ReadVar": call("ReadVar", name="diary"),
        "error": call("fail", data="$VAR_REF{{diary}}"), "failure": call("fail", data="$VAR_REF{{diary}}"),
    }.get(way, call("show", data=references.get(way, "$VAR_REF{{diary}}")))  # fmt: skip
    derived = call("ReadVar", name="show_1_result")
    chat = model.chat(tools=[read_diary, show, fail], approver=withhold)
    model.say(call("read_diary"), reading, derived if reading.name == "show" else "I cannot.", "I cannot.")

    calls = chat.send("Read it.").calls

    assert calls[0].reference == "diary"
    assert [one.status for one in calls[1:]] == (["ok", "withheld"] if reading.name == "show" else ["withheld"])
    assert SECRET in questions[-1].shown
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_another_chat_has_no_name_for_a_result_by_reference(model: Provider) -> None:
    received: list[Any] = []

    @tool(run="auto", result="reference", store_as="diary")
    def read_diary() -> str:
        "Read the diary."
        return SECRET

    model.say(
        call("read_diary"), "Read.", [call("ReadVar", name="diary"), call("keep", data="$VAR_REF{{diary}}")], "No."
    )
    assert model.chat(tools=[read_diary]).send("Read it.").calls[0].reference == "diary"

    turn = model.chat(tools=[keeping(received)], approver=release).send("Read what the other chat has.")

    assert [one.status for one in turn.calls] == ["error", "invalid"]
    assert received == []
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_what_a_withheld_call_printed_is_not_sent_either(notebook: Notebook, model: Provider) -> None:
    notebook.run(
        "from nbtool import Chat, Withheld, tool\n"
        "@tool(run='auto', result='always')\n"
        f"def diary():\n    'Read it.'\n    print('{SECRET}')\n    return 1\n"
        f"lab = Chat(tools=[diary], approver=lambda question: Withheld())"
    )
    model.say(call("diary"), "I cannot see it.")

    notebook.names["lab"].send("Read it.")

    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_the_error_of_a_call_whose_result_may_be_withheld_asks_too(model: Provider) -> None:
    @tool(run="auto", result="always")
    def diary() -> str:
        "Read the diary."
        raise ToolFailed(f"I cannot read {SECRET}")

    model.say(call("diary"), "I cannot see it.")

    turn = model.chat(tools=[diary], approver=lambda question: Withheld()).send("Read it.")

    assert turn.calls[0].status == "withheld"
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_a_released_result_is_sent_as_it_was_shown(model: Provider) -> None:
    @tool(run="auto", result="always")
    def diary() -> str:
        "Read the diary."
        return SECRET

    model.say(call("diary"), "It is Zanzibar.")

    turn = model.chat(tools=[diary], approver=lambda question: Released()).send("Read it.")

    assert turn.calls[0].status == "ok"
    assert SECRET in model.requests[1].text


@pytest.mark.promise("withheld")
def test_a_text_that_a_person_releases_replaces_the_result(model: Provider) -> None:
    @tool(run="auto", result="always")
    def diary() -> str:
        "Read the diary."
        return SECRET

    model.say(call("diary"), "It is a place.")

    model.chat(tools=[diary], approver=lambda question: Released("a place")).send("Read it.")

    assert "a place" in model.requests[1].text
    assert SECRET not in model.everything


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("answer", [None, True, Approved()], ids=repr)
def test_a_result_that_nobody_releases_is_withheld(model: Provider, answer: Any) -> None:
    @tool(run="auto", result="always")
    def diary() -> str:
        "Read the diary."
        return SECRET

    model.say(call("diary"), "I cannot see it.")

    turn = model.chat(tools=[diary], approver=lambda question: answer).send("Read it.")

    assert turn.calls[0].status == "withheld"
    assert SECRET not in model.everything


@pytest.mark.feature("approve calls and results")
def test_a_chat_can_ask_about_every_result(model: Provider) -> None:
    @tool(run="auto")
    def diary() -> str:
        "Read the diary."
        return SECRET

    model.say(call("diary"), "I cannot see it.")

    turn = model.chat(tools=[diary], check_results=True, approver=lambda question: Withheld()).send("Read it.")

    assert turn.calls[0].status == "withheld"
    assert SECRET not in model.everything


@pytest.mark.feature("approve calls and results")
def test_a_cell_can_ask_about_every_result(notebook: Notebook, model: Provider) -> None:
    notebook.run(f"from nbtool import tool\n@tool(run='auto')\ndef diary():\n    'Read it.'\n    return '{SECRET}'")
    model.say(call("diary"), "I cannot see it.")

    turn = notebook.ask("Read it.", "-t diary --set check_results=true")

    assert turn.calls[0].status == "withheld"
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
@pytest.mark.feature("keep the results of one tool from the model, and pass them on")
def test_a_result_by_reference_is_described_and_passed_on(model: Provider) -> None:
    received: list[Any] = []

    @tool(run="auto", result="reference", store_as="people")
    def query() -> pd.DataFrame:
        "Query the database."
        return pd.DataFrame({"name": [SECRET]})

    model.say(call("query"), lambda request: call("keep", data=f"$VAR_REF{{{{{_reference(request.text)}}}}}"), "Kept.")

    turn = model.chat(tools=[query, keeping(received)]).send("Query it and keep it.")

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert received[0] is turn.calls[0].result
    assert "DataFrame" in model.requests[1].text
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_a_result_by_reference_is_read_only_if_a_person_releases_it(model: Provider) -> None:
    @tool(run="auto", result="reference")
    def query() -> str:
        "Query the database."
        return SECRET

    def read(request: Any) -> Any:
        return call("ReadVar", name=_reference(request.text))

    model.say(call("query"), read, "I cannot see it.", call("query"), read, "Now I can.")

    refused = model.chat(tools=[query], approver=lambda question: Withheld()).send("Read it.")
    assert SECRET not in model.everything
    released = model.chat(tools=[query], approver=lambda question: Released()).send("Read it.")

    assert refused.calls[1].status == "withheld"
    assert released.calls[1].status == "ok"
    assert SECRET in model.everything


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("is_released", [False, True])
def test_the_pictures_of_a_result_are_withheld_and_released_with_it(model: Provider, is_released: bool) -> None:
    @tool(run="auto", result="always")
    def photograph() -> bytes:
        "Take a photograph."
        return PIXEL

    model.say(call("photograph"), "Fine.")
    decision = Released() if is_released else Withheld()

    turn = model.chat(wire="anthropic", tools=[photograph], approver=lambda question: decision).send("Take one.")

    assert turn.status == "completed"
    assert (base64.b64encode(PIXEL) in model.requests[1].content) is is_released


def _reference(text: str) -> str:
    """Find the name of the latest result in the texts of a request."""
    return text.rsplit("$VAR_REF{{", 1)[1].split("}}")[0]
