"""While a turn runs, a person adds to it, or has the next prompt sent when it has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtool import tool
from nbtool.errors import BadUsage
from tests.contract.simulator import Provider, call, held
from tests.contract.tools import wait_for_end

FEATURE = "add to a turn while it runs"
NEXT = "have a prompt sent when a turn has ended"


@pytest.mark.feature(FEATURE)
def test_what_is_added_during_a_reply_is_answered_in_the_same_turn(model: Provider) -> None:
    reply = held("All ten.")
    model.say(reply, "The first three.")
    turn = model.chat().start("List them.")
    reply.wait()

    turn.steer("Only the first three.")
    reply.open()
    asyncio.run(wait_for_end(turn))

    assert (turn.status, turn.text) == ("completed", "The first three.")
    assert model.requests[-1].text.index("All ten.") < model.requests[-1].text.index("Only the first three.")
    assert "You added: Only the first three." in turn._repr_mimebundle_()["text/plain"]
    assert "Only the first three." in turn.natural_flow


@pytest.mark.feature(FEATURE)
def test_what_the_model_did_not_get_is_given_back(model: Provider) -> None:
    reply = held("All ten.")
    model.say(reply)
    turn = model.chat().start("List them.")
    reply.wait()
    turn.steer("Only the first three.")

    turn.cancel()
    asyncio.run(wait_for_end(turn))

    assert turn.unsent == ("Only the first three.",)
    assert any("Only the first three." in notice.text for notice in turn.notices)
    with pytest.raises(BadUsage, match="next prompt"):
        turn.steer("Again.")


@pytest.mark.feature(FEATURE)
def test_what_is_added_while_a_tool_runs_comes_after_its_result(model: Provider) -> None:
    turns: list[Any] = []

    @tool(run="auto")
    def read() -> str:
        "Read the list."
        turns[0].steer("Only the first three.")
        return "the whole list"

    model.say(call("read"), "Done.")
    chat = model.chat(tools=[read])
    turns.append(chat.compose("List them."))
    turns[0].start()
    asyncio.run(wait_for_end(turns[0]))

    last = model.requests[-1].text
    assert last.index("the whole list") < last.index("Only the first three.")


@pytest.mark.feature(NEXT)
def test_a_prompt_is_sent_when_the_turn_before_it_has_ended(model: Provider) -> None:
    reply = held("First.")
    model.say(reply, "Second.")
    chat = model.chat()
    first = chat.start("One?")
    reply.wait()
    second = chat.start_after(first, "Two?")
    assert len(model.requests) == 1

    reply.open()
    asyncio.run(wait_for_end(second))

    assert (first.text, second.text) == ("First.", "Second.")
    assert "First." in model.requests[-1].text
