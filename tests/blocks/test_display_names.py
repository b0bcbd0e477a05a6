"""A tool of a server has two names: the model reads one, and a person reads `server.tool` wherever a call is shown."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import get_args

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.history.conversation_search import search
from nbtool.blocks.history.timeline import spans, timed_log
from nbtool.blocks.history.tree_rows import version_row
from nbtool.blocks.history.turn_steps import detail
from nbtool.blocks.history.usage_totals import totals
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.blocks.render.terminal import Terminal
from nbtool.chat.turn import Turn
from nbtool.event_json import dump_event, load_event
from nbtool.events import CallAsked, CallFinished, CallReady, Event
from nbtool.magics.cell.approver import input_prompt
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question
from nbtool.tools.tool import as_tools

WIRE_NAME, NAME = "mcp__shop__pay", "shop.pay"


@tool(name=WIRE_NAME)
def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


SHOP_PAY = replace(as_tools(pay)[0], qualified_name=NAME, store_as="paid")

questions: list[Question] = []


def decide(question: Question) -> Decision:
    questions.append(question)
    return Approved() if question.arguments["amount"] == 3 else Denied()


@pytest.fixture(scope="module")
def turn() -> Turn:
    """Give a turn with a call that was approved, and one that was denied."""
    questions.clear()
    with ScriptedWire([[call(WIRE_NAME, amount=3), call(WIRE_NAME, amount=4)], "Done."]) as wire:
        return Chat(wire=wire, tools=[SHOP_PAY], approver=decide).send("Go")


def document(turn: Turn, until: type[Event] | None = None) -> Transcript:  # type: ignore[valid-type]  # one of the types
    transcript = Transcript()
    for event in turn.log:
        transcript.feed(event)
        if until and isinstance(event, until):
            break
    return transcript


def terminal(turn: Turn) -> str:
    output = io.StringIO()
    writer = Terminal(output)
    for event in turn.log:
        writer.feed(event)
    return output.getvalue()


VIEWS: dict[str, Callable[[Turn], object]] = {
    "finished blocks": lambda turn: document(turn).document()["blocks"],
    "a ready call": lambda turn: document(turn, CallReady).document()["blocks"],
    "a waiting call": lambda turn: document(turn, CallAsked).document()["blocks"],
    "a terminal": terminal,
    "static HTML": lambda turn: to_html(document(turn).document()),
    "plain text": lambda turn: to_text(document(turn).document()),
    "a saved turn": lambda turn: turn_mimebundle(document(turn).document()),
    "a line of input": lambda _: input_prompt(questions[0]),
    "a row of the explorer": version_row,
    "totals": lambda turn: totals([turn]),
    "the timeline": lambda turn: spans(timed_log(turn)),
    "the steps of the explorer": lambda turn: [step["label"] for step in detail(turn)["steps"]],
}


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_names_the_tool_as_a_person_does(turn: Turn, view: str) -> None:
    shown = json.dumps(VIEWS[view](turn), default=str)

    assert NAME in shown
    assert WIRE_NAME not in shown


def test_the_model_and_the_records_keep_the_name_on_the_wire(turn: Turn) -> None:
    assert {record.name for record in turn.calls} == {WIRE_NAME}
    assert [record.status for record in turn.calls] == ["ok", "denied"]
    assert {result.name for message in turn.messages.chain for result in message.results} == {WIRE_NAME}


NAMED = [kind for kind in get_args(Event) if {"qualified_name"} & {one.name for one in fields(kind)}]
"""The events that name a tool."""


def test_every_event_of_a_tool_has_its_name_for_a_person(turn: Turn) -> None:
    assert {kind.__name__ for kind in NAMED} == {"CallReady", "CallAsked", "CallFinished"}
    assert {event.display_name for event in turn.log if type(event) in NAMED} == {NAME}  # type: ignore[union-attr]  # those have it


def test_a_journal_keeps_the_name_and_an_older_one_has_only_the_other(turn: Turn) -> None:
    for event in turn.log:
        if isinstance(event, CallReady | CallAsked | CallFinished):
            data = json.loads(dump_event(event))
            assert load_event(data) == event
            del data["qualified_name"]
            older = load_event(data)
            assert isinstance(older, CallReady | CallAsked | CallFinished)
            assert older.display_name == WIRE_NAME


def test_a_search_finds_either_name(turn: Turn) -> None:
    for name in (NAME, WIRE_NAME):
        assert [hit["turn_id"] for hit in search([turn], name)] == [turn.turn_id]


def test_a_call_that_never_became_ready_has_its_name_for_a_person() -> None:
    with ScriptedWire([call(WIRE_NAME, amount="much"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[SHOP_PAY]).send("Go")

    [block] = [one for one in document(turn).document()["blocks"] if one["kind"] == "call"]
    assert (block["name"], block["state"]) == (NAME, "invalid")


def test_a_tool_of_the_notebook_has_one_name() -> None:
    with ScriptedWire([call("price"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(run="auto")(price)]).send("Go")

    assert {event.display_name for event in turn.log if isinstance(event, CallReady | CallFinished)} == {"price"}
    assert document(turn).document()["blocks"][0]["name"] == "price"  # type: ignore[typeddict-item]  # it is a call


def price() -> int:
    """Price."""
    return 3
