from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from nbtool import Approved, Chat, Denied, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.conversation import restore
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.python import export_python
from nbtool.chat.journal import journal, queries
from nbtool.chat.turn import Turn
from nbtool.chat.turn.compact import natural_flow
from nbtool.errors import JournalError, UnknownReference
from nbtool.event_json import load_events
from nbtool.events import CallFinished, CallReady, CallStarted, Event, Notice, TurnEnded
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut, thinking
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


@tool
def sell(ticker: str) -> str:
    "Sell a ticker."
    return f"{ticker} is sold. " * 50


def journal_events(turn: Turn) -> list[Event]:
    return load_events(journal().events(turn.turn_id))


def a_turn(**more: Any) -> Turn:
    replies = [
        [thinking("Hm."), "Let me look. ", call("price", ticker="A"), call("price", ticker="B")],
        call("sell", ticker="A"),
        call("sell", ticker="B"),
        "Sold.",
    ]
    approver = ScriptedApprover([Approved(), Denied("enough")])
    return Chat(wire=ScriptedWire(replies), tools=[price, sell], approver=approver, **more).send("Sell them")


def test_a_recalled_turn_is_the_turn_that_was() -> None:
    turn = a_turn()
    again = restore.restore_turn(journal_events(turn))

    for name in ("turn_id", "model", "prompt", "status", "error", "text", "thinking", "usage", "stats", "rounds"):
        assert getattr(again, name) == getattr(turn, name), name
    assert again.messages.chain == turn.messages.chain
    assert again.content == turn.content
    assert again.transcript().document() == turn.transcript().document()


def test_recalled_calls_contain_their_outcomes_and_hold_no_objects() -> None:
    turn = a_turn()
    again = restore.restore_turn(journal_events(turn))

    actual = [
        (c.name, c.arguments, c.resolved, c.status, c.shown, c.reason, c.round, c.id, c.decisions) for c in turn.calls
    ]
    assert actual == [
        (c.name, c.arguments, c.resolved, c.status, c.shown, c.reason, c.round, c.id, c.decisions) for c in again.calls
    ]
    assert [record.status for record in again.calls] == ["ok", "error", "ok", "denied"]
    assert [record.result for record in again.calls] == [None] * 4


@pytest.mark.parametrize("replies", [["Half a rep", cut()], [call("price", ticker="A"), [], "Last word."]])
def test_a_turn_that_went_wrong_is_recalled_as_it_ended(replies: list[Any]) -> None:
    wire = ScriptedWire([replies] if replies[0] == "Half a rep" else replies)
    turn = Chat(wire=wire, tools=[price]).send("Go")
    again = restore.restore_turn(journal_events(turn))

    assert (again.status, again.text, str(again.error)) == (turn.status, turn.text, str(turn.error))
    assert again.messages.chain == turn.messages.chain


def test_a_turn_that_breaks_off_anywhere_has_ended_and_every_call_has_an_outcome() -> None:
    events = journal_events(a_turn())
    for count in range(1, len(events)):
        turn = restore.restore_turn(events[:count])

        assert (turn.status, type(turn.error)) == ("error", restore.Interrupted)
        assert {record.status for record in turn.calls} <= {"ok", "error", "denied", "unknown", "not_run"}
        assert turn.transcript().head["status"] == "error"
        assert turn.done.result() is turn


def test_a_call_that_was_running_has_an_unknown_outcome_and_one_that_was_not_did_not_run() -> None:
    events = journal_events(a_turn())
    started = next(place for place, event in enumerate(events) if isinstance(event, CallStarted))
    ready = next(place for place, event in enumerate(events) if isinstance(event, CallReady))

    assert restore.restore_turn(events[: started + 1]).calls[0].status == "unknown"
    assert restore.restore_turn(events[: ready + 1]).calls[0].status == "not_run"


def test_an_outcome_that_is_none_does_not_leave_a_call_running() -> None:
    forged = [
        event if not isinstance(event, CallFinished) else CallFinished(event.call_id, event.name, 1, "running", "")
        for event in journal_events(a_turn())
    ]

    assert {record.status for record in restore.restore_turn(forged).calls} == {"unknown", "not_run"}


def test_events_after_the_end_do_not_undo_it() -> None:
    events = [*journal_events(a_turn()), Notice("late")]

    assert restore.restore_turn(events).status == "completed"


def test_a_turn_that_ended_in_no_way_that_a_turn_ends_was_interrupted() -> None:
    events = journal_events(a_turn())
    assert isinstance(events[-1], TurnEnded)
    events[-1].status = "parked"

    assert isinstance(restore.restore_turn(events).error, restore.Interrupted)


def test_events_without_the_start_of_a_turn_are_an_error() -> None:
    with pytest.raises(JournalError, match="no start event of this turn"):
        restore.restore_turn([Notice("alone")])


def a_conversation() -> Chat:
    replies = ["One.", "One again.", call("price", ticker="A"), "Two.", "Beside two.", "Three."]
    chat = Chat(wire=ScriptedWire(replies), tools=[price])
    chat.expose(df=[1, 2, 3])
    chat.send("First, with $VAR_REF{{df}}", settings=TurnSettings(cell_id="a"))
    chat.send("First, again", settings=TurnSettings(cell_id="a"))
    second = chat.send("Second", settings=TurnSettings(cell_id="b"))
    chat.pin(second)
    chat.edit(second, "Second, differently")
    chat.send("Third")
    chat.hide()
    return chat


def shape(chat: Chat) -> list[tuple[list[str], int, str, bool, bool]]:
    return [
        (
            [version.text for version in node.versions],
            node.current,
            node.parent.node_id if node.parent else "",
            node.pinned,
            node.hidden,
        )
        for node in chat.tree.nodes()
    ]


def reopen(chat: Chat, **more: Any) -> tuple[Chat, list[str]]:
    again = Chat(**more)
    events = journal().read(lambda connection: queries.chat_events(connection, chat.chat_id))
    return again, restore.restore_into(again, again.variables, chat.chat_id, events)


def test_a_conversation_is_recalled_with_its_versions_branches_and_marks() -> None:
    chat = a_conversation()
    again, _ = reopen(chat)

    assert shape(again) == shape(chat)
    assert [node.node_id for node in again.tree.active_path] == [node.node_id for node in chat.tree.active_path]


def test_a_conversation_goes_on_where_it_stopped() -> None:
    chat = a_conversation()
    wire = ScriptedWire(["Four."])
    again, _ = reopen(chat, wire=wire, history="native")
    again.send("Fourth")

    assert [message.text for message in wire.prompts[0].messages][-1] == "Fourth"
    assert "One again." in [message.text for message in wire.prompts[0].messages]
    assert len(reopen(chat)[0].tree.active_path) == len(chat.tree.active_path) + 1


def test_references_of_an_opened_chat_are_dead_until_exposed_again() -> None:
    again, dead = reopen(a_conversation())

    assert dead == ["df", "price_1_result"]
    with pytest.raises(UnknownReference, match="earlier kernel"):
        again.variables.get("df")
    assert again.variables.reserve_name("price") == "price_2_result"
    again.expose(df=[4])
    assert again.variables.get("df").value == [4]


def test_no_approval_is_carried_over() -> None:
    chat = Chat(wire=ScriptedWire([call("sell", ticker="A"), "Sold."]), tools=[sell])
    chat.approver = ScriptedApprover([Approved(remember="tool")])
    chat.send("Sell")
    again, _ = reopen(chat, wire=ScriptedWire([call("sell", ticker="A"), "Not sold."]), tools=[sell])

    assert again.approvals.remembered() == ()
    assert again.send("Sell").calls[0].status == "denied"


@tool
def quote(ticker: str, days: int = Field(default=3, ge=1)) -> str:
    "Quote a ticker."
    return f"{ticker} {days}"


@tool(run="auto")
def fail(n: int) -> int:
    "Fail."
    return n // 0


TOOLS = [quote, fail]


def exported(turn: Turn) -> str:
    context = ExportContext({one.__name__: as_tools(one)[0] for one in TOOLS}, Variables(), {"quote": quote})
    return export_python([turn], context).text


def assert_equal(again: Turn, turn: Turn) -> None:
    assert exported(again) == exported(turn)
    assert again.content == turn.content
    assert natural_flow(again.messages.chain, again.calls) == natural_flow(turn.messages.chain, turn.calls)
    for name in ("arguments", "edited", "resolved", "traceback", "status", "shown", "reason"):
        assert [getattr(call, name) for call in again.calls] == [getattr(call, name) for call in turn.calls], name


def test_a_call_with_edited_arguments_is_recalled_with_those_that_ran() -> None:
    replies = [[call("quote", ticker="A"), call("fail", n=1)], "Quoted."]
    approver = ScriptedApprover([Approved(arguments={"ticker": "B", "days": 5})])
    turn = Chat(wire=ScriptedWire(replies), tools=TOOLS, approver=approver).send("Quote")

    again = restore.restore_turn(journal_events(turn))

    assert_equal(again, turn)
    assert 'quote(ticker="B", days=5)' in exported(again)
    assert again.calls[0].resolved["days"].text == "5"
    assert "n // 0" in again.calls[1].traceback


def test_a_default_that_was_filled_in_is_recalled_and_exported() -> None:
    replies = [call("quote", ticker="A"), "Quoted."]
    turn = Chat(wire=ScriptedWire(replies), tools=TOOLS, approver=ScriptedApprover([Approved()])).send("Quote")

    again = restore.restore_turn(journal_events(turn))

    assert_equal(again, turn)
    assert 'quote(ticker="A", days=3)' in exported(again)


def test_an_edited_call_that_was_carried_over_is_recalled_with_the_arguments_that_ran() -> None:
    replies = [call("quote", ticker="A"), ["Qu", cut()], "Quoted."]
    approver = ScriptedApprover([Approved(arguments={"ticker": "B"})])
    chat = Chat(wire=ScriptedWire(replies), tools=TOOLS, approver=approver)
    chat.send("Quote")
    turn = chat.resume()

    again = restore.restore_turn(journal_events(turn))

    assert turn.calls[0].edited
    assert_equal(again, turn)
    assert 'quote(ticker="B", days=3)' in exported(again)


def test_a_rerun_is_known_as_one_after_a_restart() -> None:
    chat = Chat(wire=ScriptedWire(["One.", "Two."]))
    chat.send("Hello", settings=TurnSettings(cell_id="a"))
    chat.rerun()

    versions = next(iter(reopen(chat)[0].tree.nodes())).all_versions

    assert [version.is_rerun for version in versions] == [False, True]
