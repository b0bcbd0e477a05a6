"""A turn's tools run again."""

from __future__ import annotations

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.errors import BadUsage
from nbtool.events import CallStarted, RequestStarted
from nbtool.ids import short_id
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from tests.chat.again import Market, make_chat, notices, outcomes, results, sell


def test_re_executing_runs_the_tools_again_and_asks_no_model_while_nothing_changed(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat()

    again = chat.reexecute()

    assert asked_tickers == ["A", "B", "A", "B"]
    assert len(wire.prompts) == 3
    assert (again.text, again.status) == ("10 and 20.", "completed")
    assert outcomes(again) == outcomes(first)
    assert [event.given for event in again.log if isinstance(event, RequestStarted)] == [True, True, True]
    assert again.usage.total_tokens == 0
    assert notices(again) == [f"Re-executed from {short_id(first.turn_id)}."]


def test_the_model_is_asked_from_where_a_call_comes_out_otherwise(asked_tickers: list[str]) -> None:
    chat, wire, _ = make_chat("A costs 11 now.")
    Market.prices["A"] = 11

    again = chat.reexecute()

    assert asked_tickers == ["A", "B", "A"]
    assert len(wire.prompts) == 4
    assert results(wire) == ["11"]
    assert again.text == "A costs 11 now."
    assert notices(again)[1] == "The outcome of `price` differs from the recorded one: the model is asked from here on."


def test_re_executing_from_a_round_sends_the_calls_before_it(asked_tickers: list[str]) -> None:
    chat, _, first = make_chat()

    again = chat.reexecute(from_round=2)

    assert asked_tickers == ["A", "B", "B"]
    assert outcomes(again) == outcomes(first)
    started = {event.call_id for event in again.log if isinstance(event, CallStarted)}
    assert started == {again.calls[1].call_id}


def test_every_gate_is_asked_again_when_a_turn_is_re_executed(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "It was not sold."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    chat.send("Sell A.")
    approver = ScriptedApprover([("sell", Denied("once is enough"))])

    again = chat.reexecute(approver=approver)

    assert asked_tickers == ["sell A"]
    assert again.calls[0].status == "denied"
    assert again.text == "It was not sold."
    approver.assert_done()


def test_results_kept_under_new_names_are_no_difference(asked_tickers: list[str]) -> None:
    @tool(run="auto")
    def listing() -> str:
        "A long text."
        Market.asked.append("listing")
        return "line\n" * 100

    wire = ScriptedWire([call("listing"), "Long."])
    chat = Chat(wire=wire, tools=[listing])
    first = chat.send("List.")

    again = chat.reexecute()

    assert asked_tickers == ["listing", "listing"]
    assert first.calls[0].reference != again.calls[0].reference
    assert again.text == "Long."


def test_re_executing_with_other_arguments_goes_on_from_what_comes_of_them(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat("B, then B.")

    again = chat.reexecute(arguments={first.calls[0].call_id: {"ticker": "B"}})

    assert asked_tickers == ["A", "B", "B"]
    assert results(wire) == ["20"]
    assert again.text == "B, then B."


def test_there_has_to_be_something_to_run_again(asked_tickers: list[str]) -> None:
    chat, _, first = make_chat("Hello.")

    with pytest.raises(BadUsage, match="called no tools from round 3 on"):
        chat.reexecute(from_round=3)
    with pytest.raises(BadUsage, match="are of round 1, and round 2 is the first to run again"):
        chat.reexecute(from_round=2, arguments={first.calls[0].call_id: {}})
    chat.send("Hi.")
    with pytest.raises(BadUsage, match="called no tools"):
        chat.reexecute()
    assert asked_tickers == ["A", "B"]
