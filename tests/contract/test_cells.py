"""Cells are sent only if that is asked for, and a tool changes none where no page has the notebook.

Undoing a turn puts back what names held, but for what a person has changed since.
"""

from __future__ import annotations

import pytest

from tests.contract.notebook import Kernel, Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import PAY_CELL

CONTEXT = "ask about the notebook's cells"
TOOLS = "let the model edit and run cells"
UNDO = "undo what a turn did"

MAKE = """
from nbtool import tool
made = []
@tool(run="auto")
def make() -> object:
    "Make something."
    made.append(object())
    return made[0]
"""
CHANGE = """
from nbtool import tool
numbers = [1]
kept = numbers
extra = "old"
@tool(run="auto")
def change() -> str:
    "Change names of the notebook."
    globals().update(numbers=[2], added="new")
    return "changed"
"""


@pytest.fixture
def history(kernel: Kernel, kernel_model: Provider) -> tuple[Kernel, Provider]:
    return kernel, kernel_model


@pytest.mark.feature(CONTEXT)
def test_cells_are_sent_only_if_that_is_asked_for(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("canary_in_a_cell = 1")
    model.say("Fine.", "Fine.")

    kernel.run("%%chat --new\nHello?")
    assert "canary_in_a_cell" not in model.requests[-1].text
    kernel.run("%%chat --new --cells above\nHello?")

    assert "canary_in_a_cell" in model.requests[-1].text


@pytest.mark.feature(CONTEXT)
def test_a_number_of_cells_are_the_last_ones(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("first_of_two = 1")
    kernel.run("second_of_two = 2")
    model.say("Fine.")

    kernel.run("%%chat --new --cells 1\nHello?")

    assert "second_of_two" in model.requests[-1].text
    assert "first_of_two" not in model.requests[-1].text


@pytest.mark.feature(CONTEXT)
def test_the_cell_that_failed_is_sent_with_its_traceback(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("numbers_to_divide = [1]\nnumbers_to_divide[5]")
    model.say("Use index 0.")

    kernel.run("%chat fix")

    assert "numbers_to_divide[5]" in model.requests[-1].text
    assert "IndexError" in model.requests[-1].text


@pytest.mark.feature(CONTEXT)
def test_the_flags_of_a_cell_are_those_of_the_question_about_a_failed_cell(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("unknown_name_of_flags")
    model.say("Define it.")

    kernel.run("%chat fix please be brief --option temperature=0.125 -s 'Answer in Latin.'")

    assert model.requests[-1].json["temperature"] == 0.125
    assert "Answer in Latin." in model.requests[-1].text
    assert "please be brief" in model.requests[-1].text
    assert "--option" not in model.requests[-1].text


@pytest.mark.feature(CONTEXT)
def test_the_cell_that_ran_last_is_explained(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("explained_name = sum(range(10))")
    model.say("It adds.")

    kernel.run("%chat explain")

    assert "explained_name" in model.requests[-1].text


@pytest.mark.feature(CONTEXT)
def test_what_would_be_sent_of_cells_can_be_seen_first(history: tuple[Kernel, Provider]) -> None:
    kernel, model = history
    kernel.run("dry_canary = 1")
    sent = len(model.requests)

    output = kernel.run("%chat explain --dry-run")

    assert "dry_canary" in output.everything
    assert len(model.requests) == sent


@pytest.mark.promise("shown-cells")
@pytest.mark.feature(TOOLS)
def test_a_tool_for_cells_changes_nothing_where_no_page_has_the_notebook(notebook: Notebook, model: Provider) -> None:
    model.say(call("insert_cell", source="x = 1"), call("run_cell", cell="1"), "I cannot.")

    turn = notebook.ask("Insert it.", "-t nbtool:notebook --approve auto")

    assert [one.status == "ok" for one in turn.calls] == [False, False]
    assert "x" not in notebook.names


@pytest.mark.promise("undo-keeps-edits")
@pytest.mark.feature(UNDO)
def test_undoing_a_turn_puts_back_what_names_held(notebook: Notebook, model: Provider) -> None:
    notebook.run(CHANGE)
    model.say(call("change"), "Changed.")
    notebook.ask("Change it.", "-t change")
    assert notebook.names["numbers"] == [2]

    notebook.run("%chat undo")

    assert notebook.names["numbers"] is notebook.names["kept"]
    assert "added" not in notebook.names


@pytest.mark.promise("undo-keeps-edits")
@pytest.mark.feature(UNDO)
def test_undoing_a_turn_leaves_what_a_person_has_changed_since(notebook: Notebook, model: Provider) -> None:
    notebook.run(CHANGE)
    model.say(call("change"), "Changed.")
    notebook.ask("Change it.", "-t change")
    notebook.run("numbers = [3]")

    output = notebook.run("%chat undo")

    assert notebook.names["numbers"] == [3]
    assert "numbers" in output.text
    assert "added" not in notebook.names


@pytest.mark.promise("undo-keeps-edits")
def test_a_person_can_let_undo_overwrite_what_they_changed(notebook: Notebook, model: Provider) -> None:
    notebook.run(CHANGE)
    model.say(call("change"), "Changed.")
    notebook.ask("Change it.", "-t change")
    notebook.run("numbers = [3]")

    notebook.run("%chat undo --replace")

    assert notebook.names["numbers"] is notebook.names["kept"]


@pytest.mark.feature("use a result in the notebook")
def test_a_result_is_bound_to_a_name_by_its_reference(notebook: Notebook, model: Provider) -> None:
    notebook.run(MAKE)
    model.say(call("make"), "Made.")
    turn = notebook.ask("Make it.", "-t make")

    notebook.run(f"%chat bind {turn.calls[0].reference} mine")

    assert notebook.names["mine"] is notebook.names["made"][0]


@pytest.mark.promise("seen-question")
@pytest.mark.promise("fails-closed")
def test_a_question_that_nobody_can_see_is_denied_and_the_output_says_so(notebook: Notebook, model: Provider) -> None:
    notebook.run(PAY_CELL)
    model.say(call("pay", amount=1), "I may not.")

    turn = notebook.ask("Pay.", "-t pay")

    assert turn.calls[0].status == "denied"
    assert turn.calls[0].reason
    assert turn.calls[0].reason in " ".join(notebook.output.text.split())


@pytest.mark.promise("by-reference")
@pytest.mark.feature("put values of the notebook into a prompt")
def test_a_value_is_put_into_a_prompt_only_with_the_setting(notebook: Notebook, model: Provider) -> None:
    notebook.names["city"] = "Zanzibar"
    model.say("Fine.", "Fine.")

    notebook.ask("Where is {city}?")
    assert "Where is {city}?" in model.requests[0].text
    notebook.ask("Where is {city!r:>12}?", "--set fill_prompt=true --new")

    assert "Where is   'Zanzibar'?" in model.requests[1].text


@pytest.mark.feature("put values of the notebook into a prompt")
def test_an_expression_that_fails_sends_nothing(notebook: Notebook, model: Provider) -> None:
    notebook.names["city"] = "Zanzibar"

    output = notebook.run("%%chat --set fill_prompt=true\nWhere is {city.nowhere()}?")

    assert output.error
    assert model.requests == []
