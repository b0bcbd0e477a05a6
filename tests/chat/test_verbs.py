from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import ClassVar

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.recall import turn as recalled
from nbtool.chat.turn import Turn
from nbtool.chat.verbs import Reexecute, Rerun
from nbtool.errors import BadUsage
from nbtool.events import CallAsked, CallFinished, CallStarted, Notice, RequestStarted, TextDelta
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut, thinking
from nbtool.tools.approval import Decision, Question

PRICES = {"A": 10, "B": 20}


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """Give the tickers that were asked for: what really ran."""
    yield Market.asked
    Market.asked.clear()
    Market.prices = dict(PRICES)


class Market:
    """The world outside."""

    asked: ClassVar[list[str]] = []
    prices: ClassVar[dict[str, int]] = dict(PRICES)


class Absent:
    """A person who never answers."""

    async def ask(self, question: Question) -> Decision:
        await asyncio.Event().wait()
        raise AssertionError(question)


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    Market.asked.append(ticker)
    return Market.prices[ticker]


@tool
def sell(ticker: str) -> str:
    "Sell all of it."
    Market.asked.append(f"sell {ticker}")
    return f"sold {ticker}"


SAID = [[thinking("Hm."), call("price", ticker="A")], call("price", ticker="B"), "10 and 20."]


def asking(*replies: object) -> tuple[Chat, ScriptedWire, Turn]:
    """Give a chat in which two prices were asked for, one after the other."""
    wire = ScriptedWire([*SAID, *replies])  # type: ignore[list-item]  # whatever a script may hold
    chat = Chat(wire=wire, tools=[price, sell])
    return chat, wire, chat.send("What do they cost?")


def outcomes(turn: Turn) -> list[tuple[str, str, str]]:
    return [(record.name, record.status, record.shown) for record in turn.calls]


def notices(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


def results(wire: ScriptedWire) -> list[str]:
    """Give the results that the last request told."""
    return [result.text for message in wire.prompts[-1].messages for result in message.results]


# --- rerun ----------------------------------------------------------------------------------------------------


def test_a_rerun_from_a_round_keeps_what_came_before_and_runs_nothing_of_it(asked: list[str]) -> None:
    chat, wire, first = asking("Only A costs 10.")

    again = chat.rerun(from_round=2)

    assert asked == ["A", "B"]
    assert len(wire.prompts) == 4
    assert results(wire) == ["10"]
    assert again.text == "Only A costs 10."
    assert outcomes(again) == [("price", "ok", "10")]
    assert (again.stats.rounds, again.stats.calls) == (2, 1)
    assert notices(again) == [f"Rerun from {first.turn_id}; its first round is told from the record."]


def test_what_a_rerun_keeps_is_sent_as_it_was(asked: list[str]) -> None:
    chat, wire, first = asking("Only A costs 10.")

    again = chat.rerun(from_round=2)

    assert wire.prompts[1].messages[:3] == first.messages.complete[:3]
    told = [(message.role, message.text, message.native, message.thinking) for message in again.messages.complete[:3]]
    said = [(message.role, message.text, message.native, message.thinking) for message in first.messages.complete[:3]]
    assert told == said
    assert [result.id for result in again.messages.chain[1].results] == [
        result.id for result in first.messages.chain[1].results
    ]
    assert len(asked) == 2


def test_every_call_of_a_new_version_has_an_id_of_its_own(asked: list[str]) -> None:
    chat, _, first = asking("Again.")

    again = chat.rerun(from_round=3)

    ids = [record.call_id for turn in (first, again) for record in turn.calls]
    assert len(set(ids)) == 4
    assert len(asked) == 2


def test_a_rerun_tells_an_edited_result_and_shows_the_difference(asked: list[str]) -> None:
    chat, wire, first = asking("Then A costs 12.")

    again = chat.rerun(results={first.calls[0].call_id: "12"})

    assert asked == ["A", "B"]
    assert results(wire) == ["12"]
    assert outcomes(again) == [("price", "ok", "12")]
    assert again.calls[0].reason == "edited by you"
    assert notices(again)[0].endswith("\nresult of `price` in round 1: 10 → 12")
    assert again.difference
    assert [(edit.before, edit.value) for edit in again.difference.edits] == [("10", "12")]
    assert first.calls[0].shown == "10"


def test_a_rerun_with_other_arguments_runs_that_call_alone(asked: list[str]) -> None:
    wire = ScriptedWire([[call("price", ticker="A"), call("price", ticker="B")], "Done.", "Done again."])
    chat = Chat(wire=wire, tools=[price])
    first = chat.send("What do they cost?")
    asked.clear()

    again = chat.rerun(arguments={first.calls[1].call_id: {"ticker": "A"}})

    assert asked == ["A"]
    assert results(wire) == ["10", "10"]
    assert [record.arguments for record in again.calls] == ['{"ticker": "A"}', '{"ticker": "A"}']
    assert wire.prompts[-1].messages[1].calls[1].args == {"ticker": "A"}
    assert 'arguments of `price` in round 1: {"ticker": "B"} → {"ticker": "A"}' in notices(again)[0]


def test_edited_arguments_pass_the_gate_as_any_others(asked: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "Not sold."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")
    approver = ScriptedApprover([("sell", Denied("not B"))])

    again = chat.rerun(arguments={first.calls[0].call_id: {"ticker": "B"}}, approver=approver)

    assert asked == ["sell A"]
    assert [(record.status, record.reason) for record in again.calls] == [("denied", "not B")]
    approver.assert_done()


def test_decisions_that_were_made_are_told_with_the_calls_and_asked_of_nobody(asked: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "I sold it."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")

    again = chat.rerun(from_round=2, approver=ScriptedApprover([]))

    assert asked == ["sell A"]
    assert [one.verdict for one in again.calls[0].decisions] == ["approved"]
    assert again.calls[0].decisions[0].call_id == again.calls[0].call_id != first.calls[0].call_id


def test_edits_that_make_no_sense_are_refused_in_one_line(asked: list[str]) -> None:
    chat, wire, first = asking()
    one, two = (record.call_id for record in first.calls)

    with pytest.raises(BadUsage, match="rounds 1, 2; a rerun edits calls of one round"):
        chat.rerun(results={one: "1", two: "2"})
    with pytest.raises(BadUsage, match="so the model is asked from round 2 on"):
        chat.rerun(from_round=3, results={one: "1"})
    with pytest.raises(BadUsage, match="has 3 rounds, and no round 4"):
        chat.rerun(from_round=4)
    with pytest.raises(BadUsage, match=f"No call begins with 'x' in {first.turn_id}. Its calls: {one} \\(price\\)"):
        chat.rerun(results={"x": "1"})
    with pytest.raises(BadUsage, match="Several calls begin with 'call_'"):
        chat.rerun(results={"call_": "1"})
    with pytest.raises(BadUsage, match="A call is edited twice"):
        chat.rerun(results={one: "1"}, arguments={one: {}})
    with pytest.raises(BadUsage, match="told as text, not as int"):
        chat.rerun(results={one: 1})  # type: ignore[dict-item]  # what a person may write
    with pytest.raises(BadUsage, match="a mapping of JSON values"):
        chat.rerun(arguments={one: {"ticker": object()}})
    assert len(wire.prompts) == 3
    assert asked == ["A", "B"]


# --- resume ---------------------------------------------------------------------------------------------------


def test_a_turn_that_broke_off_is_resumed_after_its_last_complete_reply(asked: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), ["It co", cut()], "It costs 10."])
    chat = Chat(wire=wire, tools=[price])
    first = chat.send("What does A cost?")
    assert first.status == "error"

    again = chat.resume()

    assert asked == ["A"]
    assert results(wire) == ["10"]
    assert (again.status, again.text) == ("completed", "It costs 10.")
    assert "It co" not in str(wire.prompts[-1].messages)
    assert chat.tree.line[0].versions == (first, again)
    assert "Resumed from" in notices(again)[0]


def test_a_call_of_unknown_outcome_is_told_so_and_not_run_again(asked: list[str]) -> None:
    chat, wire, first = asking("I do not know what B costs.")
    killed = _killed_while(first, first.calls[1].call_id)
    assert [record.status for record in killed.calls] == ["ok", "unknown"]
    chat.tree.line[0].tried[:] = [killed]
    asked.clear()

    again = chat.resume()

    assert asked == []
    assert [record.status for record in again.calls] == ["ok", "unknown"]
    assert "its outcome is unknown" in results(wire)[1]
    assert again.text == "I do not know what B costs."


def test_a_call_that_waited_at_its_gate_when_the_kernel_was_killed_is_asked_about_again(asked: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "Sold at last."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    first = chat.send("Sell A.")
    place = next(at for at, event in enumerate(first.log) if isinstance(event, CallAsked))
    chat.tree.line[0].tried[:] = [recalled(first.log[: place + 1])]
    asked.clear()
    approver = ScriptedApprover([("sell", Approved())])

    again = chat.resume(approver=approver)

    assert asked == ["sell A"]
    assert (again.text, [record.status for record in again.calls]) == ("Sold at last.", ["ok"])
    approver.assert_done()


def test_a_call_that_never_began_is_run_when_the_turn_is_resumed(asked: list[str]) -> None:
    wire = ScriptedWire([[call("price", ticker="A"), call("sell", ticker="B")], "Sold."])
    chat = Chat(wire=wire, tools=[price, sell])
    turn = chat.compose("Sell B.")
    turn.approver = Absent()
    turn.listen(lambda event: turn.cancel() if isinstance(event, CallFinished) else None)
    turn.begin().lent.serve(turn.done)
    assert [(record.status, record.started is None) for record in turn.calls] == [("ok", False), ("cancelled", True)]
    asked.clear()

    again = chat.resume(approver=ScriptedApprover([("sell", Approved())]))

    assert asked == ["sell B"]
    assert outcomes(again) == [("price", "ok", "10"), ("sell", "ok", "sold B")]
    assert again.status == "completed"


def test_a_call_that_was_stopped_while_it_ran_is_not_run_again(asked: list[str]) -> None:
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
    running[0].begin().lent.serve(running[0].done)
    assert [record.status for record in running[0].calls] == ["cancelled"]

    again = chat.resume()

    assert asked == ["A"]
    assert [record.status for record in again.calls] == ["unknown"]
    assert results(wire) == ["The call was stopped while it ran: how far it came is unknown. It was not run again."]


def test_a_turn_that_came_to_its_end_is_not_resumed(asked: list[str]) -> None:
    chat, _, _ = asking()

    with pytest.raises(BadUsage, match="came to its end, so nothing is pending"):
        chat.resume()
    assert asked == ["A", "B"]


# --- re-execute -----------------------------------------------------------------------------------------------


def test_re_executing_runs_the_tools_again_and_asks_no_model_while_nothing_changed(asked: list[str]) -> None:
    chat, wire, first = asking()

    again = chat.reexecute()

    assert asked == ["A", "B", "A", "B"]
    assert len(wire.prompts) == 3
    assert (again.text, again.status) == ("10 and 20.", "completed")
    assert outcomes(again) == outcomes(first)
    assert [event.given for event in again.log if isinstance(event, RequestStarted)] == [True, True, True]
    assert again.usage.total_tokens == 0
    assert notices(again) == [f"Re-executed from {first.turn_id}."]


def test_the_model_is_asked_from_where_a_call_comes_out_otherwise(asked: list[str]) -> None:
    chat, wire, _ = asking("A costs 11 now.")
    Market.prices["A"] = 11

    again = chat.reexecute()

    assert asked == ["A", "B", "A"]
    assert len(wire.prompts) == 4
    assert results(wire) == ["11"]
    assert again.text == "A costs 11 now."
    assert notices(again)[1] == "`price` came out otherwise than before: from here on the model is asked."


def test_re_executing_from_a_round_tells_the_calls_before_it(asked: list[str]) -> None:
    chat, _, first = asking()

    again = chat.reexecute(from_round=2)

    assert asked == ["A", "B", "B"]
    assert outcomes(again) == outcomes(first)
    started = {event.call_id for event in again.log if isinstance(event, CallStarted)}
    assert started == {again.calls[1].call_id}


def test_every_gate_is_asked_again_when_a_turn_is_re_executed(asked: list[str]) -> None:
    wire = ScriptedWire([call("sell", ticker="A"), "Sold.", "It was not sold."])
    chat = Chat(wire=wire, tools=[sell], approver=ScriptedApprover([Approved()]))
    chat.send("Sell A.")
    approver = ScriptedApprover([("sell", Denied("once is enough"))])

    again = chat.reexecute(approver=approver)

    assert asked == ["sell A"]
    assert again.calls[0].status == "denied"
    assert again.text == "It was not sold."
    approver.assert_done()


def test_results_kept_under_new_names_are_no_difference(asked: list[str]) -> None:
    @tool(run="auto")
    def listing() -> str:
        "A long text."
        Market.asked.append("listing")
        return "line\n" * 100

    wire = ScriptedWire([call("listing"), "Long."])
    chat = Chat(wire=wire, tools=[listing])
    first = chat.send("List.")

    again = chat.reexecute()

    assert asked == ["listing", "listing"]
    assert first.calls[0].reference != again.calls[0].reference
    assert again.text == "Long."


def test_re_executing_with_other_arguments_goes_on_from_what_comes_of_them(asked: list[str]) -> None:
    chat, wire, first = asking("B, then B.")

    again = chat.reexecute(arguments={first.calls[0].call_id: {"ticker": "B"}})

    assert asked == ["A", "B", "B"]
    assert results(wire) == ["20"]
    assert again.text == "B, then B."


def test_there_has_to_be_something_to_run_again(asked: list[str]) -> None:
    chat, _, first = asking("Hello.")

    with pytest.raises(BadUsage, match="called no tools from round 3 on"):
        chat.reexecute(from_round=3)
    with pytest.raises(BadUsage, match="are of round 1, and round 2 is the first to run again"):
        chat.reexecute(from_round=2, arguments={first.calls[0].call_id: {}})
    chat.send("Hi.")
    with pytest.raises(BadUsage, match="called no tools"):
        chat.reexecute()
    assert asked == ["A", "B"]


# --- what all of them keep ------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [Rerun(from_round=3), Reexecute()])
def test_a_new_version_is_whole_in_its_own_log(verb: Rerun | Reexecute, asked: list[str]) -> None:
    chat, _, _ = asking("The end.")

    again = chat.send("", settings=TurnSettings(verb=verb))

    rebuilt = recalled(again.log)
    assert outcomes(rebuilt) == outcomes(again)
    assert rebuilt.content == again.content
    assert rebuilt.messages.chain == again.messages.chain
    assert [reply.text for reply in rebuilt.rounds] == [reply.text for reply in again.rounds]
    shown = again.transcript().document()["blocks"]
    assert [block["kind"] for block in shown] == ["notice", "thinking", "call", "call", "text"]
    assert asked


def test_a_cancelled_turn_keeps_what_was_done_and_later_turns_are_told_it(asked: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), "Half a rep", "Then 10."])
    chat = Chat(wire=wire, tools=[price])
    turn = chat.compose("What does A cost?")
    turn.listen(lambda event: turn.cancel() if isinstance(event, TextDelta) else None)
    turn.begin().lent.serve(turn.done)

    chat.send("And now?")

    assert turn.status == "cancelled"
    assert [(record.status, record.decisions) for record in turn.calls] == [("ok", [])]
    assert turn.hint_size == len(turn.system_hint) > 0
    assert turn.started
    assert turn.stats.seconds > 0
    assert (turn.stats.rounds, turn.stats.calls) == (2, 1)
    told = wire.prompts[-1].messages[1].text
    assert told == turn.content
    assert "price" in told
    assert "10" in told
    assert asked == ["A"]


def test_a_failed_turn_is_told_with_the_calls_that_ended(asked: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), RuntimeError("the server is gone"), "Then 10."])
    chat = Chat(wire=wire, tools=[price])
    turn = chat.send("What does A cost?")

    chat.send("And now?")

    assert (turn.status, str(turn.error)) == ("error", "the server is gone")
    assert "✓ Success" in wire.prompts[-1].messages[1].text
    assert asked == ["A"]


def test_an_edited_result_is_kept_out_of_the_variables_of_the_call(asked: list[str]) -> None:
    chat, _, first = asking("Then.")

    again = chat.rerun(results={first.calls[0].call_id: "12"})

    assert first.calls[0].reference
    assert again.calls[0].reference == ""
    assert "10" not in again.content
    assert asked == ["A", "B"]


def test_what_would_run_calls_first_is_not_rehearsed(asked: list[str]) -> None:
    chat = Chat("practice:fast", tools=[price])
    first = chat.send("Call price with ticker A.")
    assert first.calls
    asked.clear()

    with pytest.raises(BadUsage, match="runs calls before its first request"):
        chat.rehearse("", settings=TurnSettings(verb=Reexecute()))
    request = chat.rehearse("", settings=TurnSettings(verb=Rerun(from_round=2)))

    assert asked == []
    assert "10" in str(request.body["messages"])


def _killed_while(turn: Turn, call_id: str) -> Turn:
    """Give the turn as a journal tells it after the kernel was killed while a call ran."""
    place = next(at for at, event in enumerate(turn.log) if isinstance(event, CallStarted) and event.call_id == call_id)
    return recalled(turn.log[: place + 1])
