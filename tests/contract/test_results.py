"""What a model reads of a result, and who can keep it from the model."""

from __future__ import annotations

import asyncio
import base64
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import current_thread
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel, Field, SecretStr

from nbtool import Approved, Policy, Progress, Released, ToolFailed, Toolset, Withheld, tool
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
    kept: list[Any] = []

    @tool(run="auto", result="always", store_as="diary")
    def read_diary() -> str:
        "Read the diary."
        return f"I love {SECRET}"

    chat = model.chat(tools=[read_diary, keeping(kept)], approver=lambda question: Withheld())
    reading = [call("ReadVar", name="diary"), call("keep", data="$VAR_REF{{diary}}"), call("ListVars")]
    model.say(call("read_diary"), "I cannot see it.", reading, "Still not.")

    withheld = chat.send("Read it.").calls[0]
    read, kept_call, listed = chat.send("Read it in another way.").calls

    assert (withheld.status, withheld.reference) == ("withheld", "")
    assert (read.status, kept_call.status, kept) == ("error", "invalid", [])
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
    kept: list[Any] = []

    @tool(run="auto", result="reference", store_as="diary")
    def read_diary() -> str:
        "Read the diary."
        return SECRET

    model.say(
        call("read_diary"), "Read.", [call("ReadVar", name="diary"), call("keep", data="$VAR_REF{{diary}}")], "No."
    )
    assert model.chat(tools=[read_diary]).send("Read it.").calls[0].reference == "diary"

    turn = model.chat(tools=[keeping(kept)], approver=release).send("Read what the other chat has.")

    assert [one.status for one in turn.calls] == ["error", "invalid"]
    assert kept == []
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

    @tool(run="auto")
    def keep(data: Any) -> str:
        "Keep it."
        received.append(data)
        return "kept"

    model.say(call("query"), lambda request: call("keep", data=f"$VAR_REF{{{{{_reference(request.text)}}}}}"), "Kept.")

    turn = model.chat(tools=[query, keep]).send("Query it and keep it.")

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert received[0] is turn.calls[0].result
    assert "DataFrame" in model.requests[1].text
    assert SECRET not in model.everything


def _reference(text: str) -> str:
    """Find the name of the latest result in the texts of a request."""
    return text.rsplit("$VAR_REF{{", 1)[1].split("}}")[0]


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

    assert refused.calls[1].status != "ok"
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


@pytest.mark.promise("declared-form")
@pytest.mark.parametrize("kind", ["secret", "excluded", "no repr"])
@pytest.mark.parametrize(
    "inside", [lambda one: one, lambda one: [one], lambda one: {"k": (one,)}], ids=["itself", "list", "dict"]
)
def test_a_field_that_a_class_keeps_back_is_never_sent(model: Provider, kind: str, inside: Any) -> None:
    class Login(BaseModel):
        user: str = "ada"
        password: SecretStr = SecretStr(SECRET)

    class Account(BaseModel):
        user: str = "ada"
        password: str = Field(default=SECRET, exclude=True)

    @dataclass
    class Person:
        user: str = "ada"
        password: str = field(default=SECRET, repr=False)

    made = {"secret": Login, "excluded": Account, "no repr": Person}[kind]()

    @tool(run="auto")
    def look_up() -> Any:
        "Look somebody up."
        return inside(made)

    model.say(call("look_up"), "It is ada.")

    turn = model.chat(tools=[look_up]).send("Who is it?")

    assert turn.calls[0].status == "ok"
    assert "ada" in model.requests[1].text
    assert SECRET not in model.everything


def test_a_large_result_is_sent_in_part_and_described_as_such(model: Provider) -> None:
    text = "".join(f"line {number}\n" for number in range(50_000))

    @tool(run="auto")
    def read_log() -> str:
        "Read the log."
        return text

    model.say(call("read_log"), "Long.")

    turn = model.chat(tools=[read_log]).send("Read it.")

    assert turn.calls[0].result == text
    assert len(model.requests[1].content) < len(text) / 2
    assert "$VAR_REF{{" in model.requests[1].text


def test_the_error_of_a_tool_is_a_result_for_the_model(model: Provider) -> None:
    @tool(run="auto")
    def fail() -> str:
        "Fail."
        raise ToolFailed("The shop is closed.")

    model.say(call("fail"), "It is closed.")

    turn = model.chat(tools=[fail]).send("Buy it.")

    assert (turn.status, turn.error, turn.calls[0].status) == ("completed", None, "error")
    assert "The shop is closed." in model.requests[1].text


def test_an_exception_of_a_tool_is_reported_without_its_source(model: Provider) -> None:
    @tool(run="auto")
    def fail() -> str:
        "Fail."
        password = "line-of-source"  # noqa: F841
        raise KeyError("missing")

    model.say(call("fail"), "It failed.")

    turn = model.chat(tools=[fail]).send("Try it.")

    assert turn.calls[0].status == "error"
    assert "KeyError" in model.requests[1].text
    assert "line-of-source" not in model.everything


@pytest.mark.parametrize("kind", ["sync", "async", "generator", "async generator", "method", "object"])
def test_every_kind_of_callable_is_a_tool(model: Provider, kind: str) -> None:
    def sync(n: int) -> int:
        "Twice a number."
        return 2 * n

    async def later(n: int) -> int:
        "Twice a number."
        await asyncio.sleep(0)
        return 2 * n

    def steps(n: int) -> Any:
        "Twice a number."
        yield Progress("half", 0.5)
        return 2 * n

    async def later_steps(n: int) -> Any:
        "Twice a number."
        yield Progress("half", 0.5)
        yield 2 * n

    class Doubler:
        def double(self, n: int) -> int:
            "Twice a number."
            return 2 * n

    functions = {"sync": sync, "async": later, "generator": steps, "async generator": later_steps,
                 "method": Doubler().double}  # fmt: skip
    made = Toolset("shop", [Doubler()]).approved(Policy("auto")) if kind == "object" else None
    one = made or tool(run="auto", name="double")(functions[kind])
    model.say(call("double", n=21), "42.")

    turn = model.chat(tools=[one]).send("Double 21.")

    assert turn.calls[0].status == "ok", turn.calls[0].shown
    assert turn.calls[0].result in (42, [42])


def get_process() -> int:
    "Say in which process it runs."
    return os.getpid()


@pytest.mark.feature("run tools on a cluster")
def test_a_tool_runs_in_a_pool_of_processes(model: Provider) -> None:
    with ProcessPoolExecutor(1) as pool:
        model.say(call("get_process"), "There.")

        turn = model.chat(tools=[tool(run="auto", executor=pool)(get_process)]).send("Where?")

    assert turn.calls[0].status == "ok", turn.calls[0].shown
    assert turn.calls[0].result != os.getpid()


@pytest.mark.feature("run tools on a cluster")
def test_a_tool_runs_where_its_executor_says(model: Provider) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="elsewhere") as pool:

        @tool(run="auto", executor=pool)
        def where() -> str:
            "Say where it runs."
            return current_thread().name

        model.say(call("where"), "There.")
        turn = model.chat(tools=[where]).send("Where?")

    assert turn.calls[0].result.startswith("elsewhere")
