"""A turn that broke off is brought to its end."""

from __future__ import annotations

import asyncio

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.conversation.restore import restore_turn as recalled
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import CallAsked, CallFinished, CallStarted
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut
from nbtool.tools.approval import Decision, Question
from tests.chat.again import Market, make_chat, notices, outcomes, price, results, sell


class NoAnswer:
    """A person who never answers."""

    async def ask(self, question: Question) -> Decision:
        await asyncio.Event().wait()
        raise AssertionError(question)


def test_a_turn_that_broke_off_is_resumed_after_its_last_complete_reply(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), ["It co", cut()], "It costs 10."])
    chat = Chat(wire=wire, tools=[price])
    first = chat.send("What does A cost?")
    assert first.status == "error"

    again = chat.resume()

    assert asked_tickers == ["A"]
    assert results(wire) == ["10"]
    assert (again.status, again.text) == ("completed", "It costs 10.")
    assert "It co" not in str(wire.prompts[-1].messages)
    assert chat.tree.active_path[0].versions == (first, again)
    assert "Resumed from" in notices(again)[0]


def test_a_call_of_unknown_outcome_is_reported_and_not_run_again(asked_tickers: list[str]) -> None:
    chat, wire, first = make_chat("I do not know what B costs.")
    killed = _kill_during(first, first.calls[1].call_id)
    assert [record.status for record in killed.calls] == ["ok", "unknown"]
    chat.tree.active_path[0].all_versions[:] = [killed]
    asked_tickers.clear()

    again = chat.resume()

    assert asked_tickers == []
    assert [record.status for record in again.calls] == ["ok", "unknown"]
    assert "its outcome is unknown" in results(wire)[1]
    assert again.text == "I do not know what B costs."


def test_a_call_that_waited_at_its_gate_when_the_kernel_was_killed_is_asked_about_again(
    asked_tickers: list[str],
) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "Sold at last."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")
    place = next(at for at, event in enumerate(first.log) if isinstance(event, CallAsked))
    chat.tree.active_path[0].all_versions[:] = [recalled(first.log[: place + 1])]
    asked_tickers.clear()
    approver = ScriptedApprover([("sell", Approved())])

    again = chat.resume(approver=approver)

    assert asked_tickers == ["sell A"]
    assert (again.text, [record.status for record in again.calls]) == ("Sold at last.", ["ok"])
    approver.assert_done()


def test_a_call_that_never_began_is_run_when_the_turn_is_resumed(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([[call("price", ticker="A"), call("sell", ticker="B")], "Sold."])
    chat = Chat(wire=wire, tools=[price, sell])
    turn = chat.compose("Sell B.")
    turn.approver = NoAnswer()
    turn.add_listener(lambda event: turn.cancel() if isinstance(event, CallFinished) else None)
    turn.start().caller_thread.run_until(turn.done)
    assert [(record.status, record.started is None) for record in turn.calls] == [("ok", False), ("cancelled", True)]
    asked_tickers.clear()

    again = chat.resume(approver=ScriptedApprover([("sell", Approved())]))

    assert asked_tickers == ["sell B"]
    assert outcomes(again) == [("price", "ok", "10"), ("sell", "ok", "sold B")]
    assert again.status == "completed"


def test_a_call_that_was_stopped_while_it_ran_is_not_run_again(asked_tickers: list[str]) -> None:
    running: list[Turn] = []

    @tool(run="auto")
    async def slow(ticker: str) -> str:
        "Wait for ever."
        Market.asked.append(ticker)
        running[0].cancel()
        await asyncio.Event().wait()
        return ""

    wire = ScriptedWire([call("slow", ticker="A"), "I do not know."])
    chat = Chat(wire=wire, tools=[slow])
    running.append(chat.compose("Wait."))
    running[0].start().caller_thread.run_until(running[0].done)
    assert [record.status for record in running[0].calls] == ["cancelled"]

    again = chat.resume()

    assert asked_tickers == ["A"]
    assert [record.status for record in again.calls] == ["unknown"]
    assert results(wire) == ["The call was stopped while it was running: its outcome is unknown. It was not run again."]


@pytest.mark.promise("killed-kernel")
def test_a_resumption_that_was_killed_at_any_event_is_resumed_and_runs_nothing_again(asked_tickers: list[str]) -> None:
    both = [call("price", ticker="A"), call("price", ticker="B")]
    wire = ScriptedWire([both, ["It co", cut()], call("price", ticker="C"), ["It co", cut()], *["Done."] * 60])
    chat = Chat(wire=wire, tools=[price])
    first, second = chat.send("Compare."), chat.resume()
    node = chat.tree.active_path[0]
    assert asked_tickers == ["A", "B", "C"]

    for events in range(1, len(second.log)):
        killed = recalled(second.log[:events])
        node.all_versions[:] = [first, killed]
        asked_tickers.clear()
        again = chat.resume(killed)

        assert again.status == "completed", events
        assert not {"A", "B"} & set(asked_tickers), events
        assert [record.status for record in again.calls][:2] == ["ok", "ok"], events


def test_a_turn_that_came_to_its_end_is_not_resumed(asked_tickers: list[str]) -> None:
    chat, _, _ = make_chat()

    with pytest.raises(BadUsage, match="is complete, so nothing is pending"):
        chat.resume()
    assert asked_tickers == ["A", "B"]


def _kill_during(turn: Turn, call_id: str) -> Turn:
    """Give the turn as a journal tells it after the kernel was killed while a call ran."""
    place = next(at for at, event in enumerate(turn.log) if isinstance(event, CallStarted) and event.call_id == call_id)
    return recalled(turn.log[: place + 1])
