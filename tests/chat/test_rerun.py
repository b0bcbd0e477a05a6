"""A turn is said again, from its beginning or from a round of it."""

from __future__ import annotations

import pytest

from nbtool import Approved, Chat, Denied
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from tests.chat.again import make_chat, notices, outcomes, price, results, sell


def test_a_rerun_from_a_round_keeps_what_came_before_and_runs_nothing_of_it(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat("Only A costs 10.")

    again = chat.rerun(from_round=2)

    assert asked_tickers == ["A", "B"]
    assert len(wire.prompts) == 4
    assert results(wire) == ["10"]
    assert again.text == "Only A costs 10."
    assert outcomes(again) == [("price", "ok", "10")]
    assert (again.stats.rounds, again.stats.calls) == (2, 1)
    assert notices(again) == [f"Rerun from {short_id(first.turn_id)}; its first round is reused."]


def test_what_a_rerun_keeps_is_sent_as_it_was(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat("Only A costs 10.")

    again = chat.rerun(from_round=2)

    assert wire.prompts[1].messages[:3] == first.messages.complete[:3]
    actual = [(message.role, message.text, message.native, message.thinking) for message in again.messages.complete[:3]]
    said = [(message.role, message.text, message.native, message.thinking) for message in first.messages.complete[:3]]
    assert actual == said
    assert [result.id for result in again.messages.chain[1].results] == [
        result.id for result in first.messages.chain[1].results
    ]
    assert len(asked_tickers) == 2


def test_every_call_of_a_new_version_has_an_id_of_its_own(asked_tickers: list[str]) -> None:
    chat, _, first = make_chat("Again.")

    again = chat.rerun(from_round=3)

    ids = [record.call_id for turn in (first, again) for record in turn.calls]
    assert len(set(ids)) == 4
    assert len(asked_tickers) == 2


def test_a_rerun_sends_an_edited_result_and_shows_the_difference(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat("Then A costs 12.")

    again = chat.rerun(results={first.calls[0].call_id: "12"})

    assert asked_tickers == ["A", "B"]
    assert results(wire) == ["12"]
    assert outcomes(again) == [("price", "ok", "12")]
    assert again.calls[0].reason == "edited by you"
    assert notices(again)[0].endswith("\nresult of `price` in round 1: 10 → 12")
    assert again.difference
    assert [(edit.before, edit.value) for edit in again.difference.edits] == [("10", "12")]
    assert first.calls[0].shown == "10"


def test_a_rerun_with_other_arguments_runs_that_call_alone(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([[call("price", ticker="A"), call("price", ticker="B")], "Done.", "Done again."])
    chat = Chat(wire=wire, tools=[price])
    first = chat.send("What do they cost?")
    asked_tickers.clear()

    again = chat.rerun(arguments={first.calls[1].call_id: {"ticker": "A"}})

    assert asked_tickers == ["A"]
    assert results(wire) == ["10", "10"]
    assert [record.arguments for record in again.calls] == ['{"ticker": "A"}', '{"ticker": "A"}']
    assert wire.prompts[-1].messages[1].calls[1].args == {"ticker": "A"}
    assert 'arguments of `price` in round 1: {"ticker": "B"} → {"ticker": "A"}' in notices(again)[0]


def test_edited_arguments_pass_the_gate_as_any_others(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "Not sold."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")
    approver = ScriptedApprover([("sell", Denied("not B"))])

    again = chat.rerun(arguments={first.calls[0].call_id: {"ticker": "B"}}, approver=approver)

    assert asked_tickers == ["sell A"]
    assert [(record.status, record.reason) for record in again.calls] == [("denied", "not B")]
    approver.assert_done()


def test_decisions_that_were_made_are_reported_with_the_calls_and_asked_of_nobody(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "I sold it."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")

    again = chat.rerun(from_round=2, approver=ScriptedApprover([]))

    assert asked_tickers == ["sell A"]
    assert [one.verdict for one in again.calls[0].decisions] == ["approved"]
    assert again.calls[0].decisions[0].call_id == again.calls[0].call_id != first.calls[0].call_id


def test_edits_that_make_no_sense_are_refused_in_one_line(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat()
    one, two = (record.call_id for record in first.calls)

    with pytest.raises(BadUsage, match="rounds 1, 2; a rerun edits calls of one round"):
        chat.rerun(results={one: "1", two: "2"})
    with pytest.raises(BadUsage, match="so the model is asked from round 2 on"):
        chat.rerun(from_round=3, results={one: "1"})
    with pytest.raises(BadUsage, match="has 3 rounds, and no round 4"):
        chat.rerun(from_round=4)
    with pytest.raises(
        BadUsage, match=f"No call begins with 'x' in {short_id(first.turn_id)}. Its calls: {one} \\(price\\)"
    ):
        chat.rerun(results={"x": "1"})
    with pytest.raises(BadUsage, match="Several calls begin with 'call_'"):
        chat.rerun(results={"call_": "1"})
    with pytest.raises(BadUsage, match="A call is edited twice"):
        chat.rerun(results={one: "1"}, arguments={one: {}})
    with pytest.raises(BadUsage, match="results cannot be a dict with 1 under"):
        chat.rerun(results={one: 1})  # type: ignore[dict-item]  # what a person may write
    with pytest.raises(BadUsage, match="a mapping of JSON values"):
        chat.rerun(arguments={one: {"ticker": object()}})
    assert len(wire.prompts) == 3
    assert asked_tickers == ["A", "B"]
