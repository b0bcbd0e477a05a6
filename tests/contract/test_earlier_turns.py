"""A chat says how much of its earlier turns is sent; another chat and a fresh conversation send nothing of them."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import tool
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, Refusal, call

LONG = "a long result of a tool. " * 120


@tool(run="auto")
def read_report() -> str:
    "Read the report."
    return LONG


@pytest.mark.parametrize("history", ["compact", "results", "text", "native", "none"])
def test_a_chat_says_how_much_of_earlier_turns_is_sent(model: Provider, history: Any) -> None:
    model.say(call("read_report"), "It is long.", "Yes.")
    chat = model.chat(tools=[read_report], history=history)
    chat.send("Please look it up.")

    chat.send("Really?")

    last = model.requests[2].text
    assert ("Please look it up." in last) is (history != "none")
    assert ("It is long." in last) is (history != "none")
    assert (LONG in last) is (history in {"results", "native"})


def test_the_compact_form_of_a_turn_is_what_is_sent_of_it(model: Provider) -> None:
    model.say(call("read_report"), "It is long.", "Yes.")
    chat = model.chat(tools=[read_report])
    first = chat.send("Read the report.")

    chat.send("Really?")

    assert first.content == first.system_hint + first.natural_flow
    assert first.hint_size == len(first.system_hint)
    assert "read_report" in first.natural_flow
    assert "It is long." in first.natural_flow


def test_a_result_of_an_earlier_turn_can_still_be_read(model: Provider) -> None:
    model.say(
        call("read_report"), "It is long.", lambda request: call("ReadVar", name=first.calls[0].reference), "Yes."
    )
    chat = model.chat(tools=[read_report])
    first = chat.send("Read the report.")

    second = chat.send("Read it again.")

    assert second.calls[0].status == "ok"
    assert LONG[:500] in model.requests[3].text


def test_a_fresh_conversation_has_nothing_of_the_former_one(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.")
    notebook.ask("Tell me a word.")

    notebook.ask("Hello?", "--new")

    assert "Tell me a word." not in model.requests[1].text


def test_chats_of_other_names_know_nothing_of_each_other(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.")
    notebook.ask("Tell me a word.", "-c one")

    notebook.ask("Hello?", "-c two")

    assert "Tell me a word." not in model.requests[1].text


def test_calls_of_a_failed_turn_are_sent_to_the_next_one(model: Provider) -> None:
    @tool(run="auto")
    def price(ticker: str) -> str:
        "The price of a ticker."
        return "price-of-ten"

    model.say(call("price", ticker="A"), Refusal(400, "no"), "It costs 10.")
    chat = model.chat(tools=[price])
    assert chat.send("What does A cost?").status == "error"

    chat.send("Well?")

    assert "price-of-ten" in model.requests[2].text


def test_requests_only_grow_at_their_end(model: Provider) -> None:
    @tool(run="auto")
    def price(ticker: str) -> str:
        "The price of a ticker."
        return "10"

    model.say(call("price", ticker="A"), call("price", ticker="B"), "Both cost 10.")

    model.chat(tools=[price]).send("What do A and B cost?")

    first, second, third = (request.json["messages"] for request in model.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
