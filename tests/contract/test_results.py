"""A model reads a result as its class declares it, a large one in part, and of an error no source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from nbtool import ToolFailed, tool
from tests.contract.simulator import Provider, call
from tests.contract.tools import SECRET


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
