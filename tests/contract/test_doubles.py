"""The doubles for a user's own tests, a scripted model and a scripted person, fail a test that leaves their script."""

from __future__ import annotations

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.errors import IncompleteReply
from nbtool.testing import ScriptedApprover, ScriptedWire, ScriptError, call, cut, say, thinking


@tool
def price(ticker: str) -> float:
    "Return the price of a share."
    return {"AAPL": 189.3}[ticker]


def test_a_scripted_model_gives_its_replies_in_order() -> None:
    with ScriptedWire([[call("price", ticker="AAPL")], "It costs 189.3."]) as wire:
        turn = Chat(wire=wire, tools=[price], approver=lambda question: Approved()).send("What does AAPL cost?")

    assert (turn.text, turn.calls[0].result) == ("It costs 189.3.", 189.3)
    assert len(wire.prompts) == 2


def test_a_reply_can_have_thinking_and_text_and_calls() -> None:
    with ScriptedWire([[thinking("Hm."), say("Let me look. "), call("price", ticker="AAPL")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[price]).send("What does AAPL cost?")

    assert turn.thinking == "Hm."
    assert turn.calls[0].status == "denied"


def test_a_reply_that_is_not_used_fails() -> None:
    with pytest.raises(ScriptError), ScriptedWire(["One.", "Two."]) as wire:
        Chat(wire=wire).send("Hello?")


def test_a_request_that_is_not_in_the_script_fails() -> None:
    wire = ScriptedWire(["One."])
    chat = Chat(wire=wire)
    chat.send("Hello?")

    assert isinstance(chat.send("Hello?").error, ScriptError)
    with pytest.raises(ScriptError):
        wire.assert_done()


def test_a_reply_can_be_cut_off() -> None:
    with ScriptedWire([[say("It costs"), cut()]]) as wire:
        turn = Chat(wire=wire).send("What does AAPL cost?")

    assert isinstance(turn.error, IncompleteReply)


def test_a_scripted_person_decides_in_order_and_about_the_tool_that_is_named() -> None:
    calls = [call("price", ticker="AAPL"), call("price", ticker="NVDA")]
    with ScriptedWire([calls, "Done."]) as wire, ScriptedApprover([("price", Approved()), Denied("no")]) as person:
        turn = Chat(wire=wire, tools=[price], approver=person).send("What do they cost?")

    assert [one.status for one in turn.calls] == ["ok", "denied"]
    assert len(person.questions) == 2
