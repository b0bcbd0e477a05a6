from __future__ import annotations

import threading
import time

import pandas as pd
import pytest

from nbtool import Chat
from nbtool.blocks.render.static_html import to_html
from nbtool.events import CallAsked, CallFinished
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from nbtool.tools.approval import Decision, Question, Released, Withheld
from nbtool.tools.values.table_preview import MAX_RESULT_ROWS
from tests.tools.calling import ask_for, make_harness


def test_a_result_that_takes_too_long_to_render_is_reported_without_a_picture() -> None:
    goes_on = threading.Event()

    class Slow:
        def _repr_png_(self) -> bytes | None:
            goes_on.wait(240)
            return None

    Slow.__module__ = "matplotlib.odd"
    give = tool(lambda: Slow(), name="give", run="auto")
    record = make_harness(give, render_seconds=0.05).run(ask_for("give"))
    goes_on.set()

    assert (record.status, record.media, type(record.result)) == ("ok", (), Slow)


def test_a_result_of_which_the_model_gets_a_part_says_what_the_whole_is() -> None:
    @tool(run="auto")
    def long() -> str:
        """Give a long text."""
        return "word " * 20_000

    @tool(run="auto")
    def short() -> str:
        """Give a short text."""
        return "word " * 100

    with ScriptedWire([call("long"), call("short"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[long, short]).send("Go")
    finished = {event.name: event for event in turn.log if isinstance(event, CallFinished)}
    blocks = {block["name"]: block for block in turn.transcript().document()["blocks"] if block["kind"] == "call"}

    assert finished["long"].whole.startswith("str, 100")
    assert blocks["long"].get("whole") == finished["long"].whole
    assert f"shown in part; the whole is {finished['long'].whole}" in to_html(turn.transcript().document())
    assert (finished["short"].whole, blocks["short"].get("whole")) == ("", None)


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("gate", ["policy", "check_results"])
def test_what_was_not_shown_of_a_released_result_is_read_only_with_another_approval(gate: str) -> None:
    rows = [f"row {number}" for number in range(20_000)]
    questions: list[Question] = []

    def release(question: Question) -> Decision:
        questions.append(question)
        return Released() if len(questions) == 1 else Withheld()

    list_rows = tool(lambda: rows, name="rows", run="auto", result="always" if gate == "policy" else "never")
    read = call("ReadVar", name="rows_1_result", start=100_000, length=50)
    with ScriptedWire([call("rows"), read, "Done."]) as wire:
        chat = Chat(wire=wire, tools=[list_rows], approver=release, check_results=gate == "check_results")
        turn = chat.send("Go.")

    assert [record.status for record in turn.calls] == ["ok", "withheld"]
    assert "row 19999" not in questions[0].shown


@pytest.mark.promise("withheld")
def test_a_released_object_that_changes_later_is_read_only_with_another_approval() -> None:
    table = pd.DataFrame({"a": range(3)})
    questions: list[Question] = []

    def release(question: Question) -> Decision:
        questions.append(question)
        table.loc[0, "a"] = 4711
        return Released() if len(questions) == 1 else Withheld()

    show = tool(lambda: table, name="show", run="auto", result="always")
    with ScriptedWire([call("show"), call("ReadVar", name="show_1_result"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[show], approver=release).send("Go.")

    assert [record.status for record in turn.calls] == ["ok", "withheld"]
    assert "4711" not in questions[0].shown + turn.calls[0].shown


def test_a_short_result_that_was_released_stays_readable() -> None:
    give = tool(lambda: ["released"], name="give", run="auto", result="always")
    with ScriptedWire([call("give"), call("ReadVar", name="give_1_result"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[give], approver=lambda _: Released()).send("Go.")

    assert [record.shown for record in turn.calls] == ['["released"]'] * 2


def test_the_time_of_a_call_ends_with_its_tool_and_not_with_the_decision_on_its_result() -> None:
    asked: list[float] = []

    @tool(run="auto", result="always")
    def give() -> str:
        "Give."
        return "it"

    def release(_: Question) -> Decision:
        asked.append(time.time())
        return Released()

    record = make_harness(give, approver=release).run(ask_for("give"))

    assert record.started is not None
    assert record.ended is not None
    assert record.started <= record.ended <= asked[0]


def test_a_result_that_is_a_table_is_one_for_the_person_and_nowhere_else() -> None:
    frame = pd.DataFrame({"mass": range(30), "name": ["SENTINEL"] * 30})
    give = tool(lambda: frame, name="give", run="auto")
    number = tool(lambda: 3, name="number", run="auto")
    with ScriptedWire([call("give"), call("number"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[give, number]).send("Go")
    blocks = {block["name"]: block for block in turn.transcript().document()["blocks"] if block["kind"] == "call"}
    table = blocks["give"].get("table")

    assert table is not None
    assert (table["columns"], len(table["rows"]), table.get("more_rows")) == (["mass", "name"], 20, 10)
    assert table["rows"][1] == ["1", "SENTINEL"]
    assert "table" not in blocks["number"]


def test_a_question_about_a_table_has_its_first_rows_for_the_person_alone() -> None:
    asked: list[Question] = []

    def release(question: Question) -> Decision:
        asked.append(question)
        return Released()

    def frame() -> pd.DataFrame:
        return pd.DataFrame({"n": range(50)})

    def text() -> str:
        return "no table"

    tools = [tool(one, name=one.__name__, run="auto", result="always") for one in (frame, text)]
    with ScriptedWire([[call("frame"), call("text")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=tools, approver=release).send("Go.")
    events = {event.tool: event for event in turn.log if isinstance(event, CallAsked)}
    by_tool = {question.tool: question for question in asked}

    assert by_tool["frame"].glances["result"]["rows"][:2] == [["0"], ["1"]]
    assert by_tool["frame"].glances["result"]["more_rows"] == 50 - MAX_RESULT_ROWS
    assert events["frame"].glances == by_tool["frame"].glances
    assert (by_tool["text"].glances, events["text"].glances) == ({}, {})


def test_a_question_about_a_table_that_is_exposed_by_reference_has_no_rows() -> None:
    asked: list[Question] = []

    def withhold(question: Question) -> Decision:
        asked.append(question)
        return Withheld()

    same = tool(lambda df: df, name="same", run="auto", result="always")
    with ScriptedWire([call("same", df="$VAR_REF{{secret}}"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[same], approver=withhold, notebook={"secret": pd.DataFrame({"n": [42]})})
        chat.variables.expose("secret")
        chat.send("Go.")

    assert [(question.gate, question.glances) for question in asked] == [("result", {})]


def test_a_result_that_was_withheld_or_edited_is_no_table() -> None:
    frame = pd.DataFrame({"name": ["SENTINEL"] * 3})
    give = tool(lambda: frame, name="give", run="auto", result="always")

    tables = []
    for decision in (Withheld(), Released("[redacted]"), Released()):
        with ScriptedWire([call("give"), "Done."]) as wire:
            turn = Chat(wire=wire, tools=[give], approver=lambda _, given=decision: given).send("Go")
        tables.append(turn.calls[0].table)

    assert [bool(table) for table in tables] == [False, False, True]
