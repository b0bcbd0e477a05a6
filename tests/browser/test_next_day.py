"""The next day: a saved notebook is opened on a new kernel, and the buttons of its turns work."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook, screenshot

LOAD = """%load_ext nbtool
from nbtool import tool
@tool(run="auto")
def price(ticker: str) -> float:
    "Price of a ticker."
    return 98.7"""
ASK = "%%chat -t price -m practice:fast -o answer\nUse &`price` for NVDA."
TURN, BELOW, NEXT = 1, 2, 3
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
DELETE = "() => window.jupyterapp.commands.execute('notebook:delete-cell')"
FOLLOW = 2


def test_where_nbtool_is_not_loaded_the_cell_that_loads_it_is_above(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="next-day.ipynb")
    for cell in (0, TURN):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()

    notebook.output(TURN).get_by_role("button", name="Rerun").click()
    expect(notebook.cell(BELOW)).to_contain_text("%load_ext nbtool")
    assert notebook.source(NEXT).startswith("%%chat --rerun turn_")
    notebook.run_cell(BELOW)
    again = notebook.run_cell(NEXT)

    expect(again).to_contain_text("continues here as 'main': 1 turn on its line.")
    expect(again).to_contain_text(
        "Missing: the tool price. Run the cell that defines price; then the next cell of this chat uses them again."
    )


def test_where_it_is_loaded_the_button_works_with_the_tools_that_are_there(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="loaded.ipynb")
    for cell in (0, TURN):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)

    cells = notebook.cell_count()
    notebook.output(TURN).get_by_role("button", name="Rerun").click()
    again = notebook.output(TURN)

    assert notebook.cell_count() == cells
    expect(again).to_contain_text("98.7")
    expect(again).to_contain_text("2/2")


@pytest.mark.new_page
def test_the_result_of_a_saved_turn_is_added_to_the_notebook_or_the_cell_says_how(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="results.ipynb")
    for cell in (0, TURN):
        notebook.run_cell(cell)
    notebook.save()
    notebook.reload()

    notebook.output(TURN).get_by_role("button", name="Add to notebook").click()
    assert notebook.source(BELOW).startswith("%chat bind price_1_result --turn turn_")
    expect(notebook.run_cell(BELOW)).to_contain_text("Bound price_1_result in the notebook.")
    notebook.restart()
    notebook.run_cell(0)
    recorded = notebook.run_cell(BELOW)

    expect(recorded).to_contain_text(
        "Bound price_1_result in the notebook: as the history has it, a value of type float. Its object was lost"
    )


def test_an_earlier_chat_is_opened_by_a_line_typed_by_hand(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, "%chat history chats", "# a free cell", kernel="python3", name="open.ipynb")
    for cell in (0, TURN, 2):
        notebook.run_cell(cell)
    listed = notebook.wait_output(2, "chat_").inner_text()
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)

    notebook.write_cell(3, f"%chat open {listed[listed.index('chat_') :].split()[0]}")
    opened = notebook.run_cell(3)

    expect(opened).to_contain_text("continues here as 'main': 1 turn on its line.")
    expect(opened).to_contain_text("Tools added again: price.")
    notebook.write_cell(3, "%%chat -m practice:fast\nUse &`price` for AMD.")
    expect(notebook.run_cell(3)).to_contain_text("98.7")
    screenshot(notebook.page, "next-day-opened")
    assert notebook.errors == []


FOLLOW_UP = "%%chat -m practice:fast -o next_answer\nAnd what was the price?"
CHECK = "print([m.text[:30] for m in next_answer.messages.context if m.role == 'user'], next_answer.status)"


def test_the_other_version_of_a_saved_turn_is_shown_in_its_place_and_a_follow_up_goes_on_from_it(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, FOLLOW_UP, CHECK, kernel="python3", name="versions.ipynb")
    notebook.run_cell(0)
    for _ in range(2):
        notebook.run_cell(TURN)
    expect(notebook.output(TURN)).to_contain_text("2/2")
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)
    cells = notebook.cell_count()

    expect(notebook.output(TURN).get_by_role("button", name="Next version")).to_be_disabled()
    notebook.output(TURN).get_by_role("button", name="Previous version").click()
    expect(notebook.output(TURN).get_by_role("status")).to_contain_text("Switched to version 1 of 2.")
    expect(notebook.output(TURN).get_by_role("status")).to_contain_text("continues here as 'main'")
    expect(notebook.output(TURN).locator(".nb-versions")).to_contain_text("1/2")
    assert notebook.cell_count() == cells
    followed = notebook.run_cell(FOLLOW)
    expect(followed.locator(".nb-turn")).to_be_visible()
    notebook.run_cell(FOLLOW + 1)

    notebook.wait_output(FOLLOW + 1, "Use &`price` for NVDA.")
    notebook.wait_output(FOLLOW + 1, "completed")
    screenshot(notebook.page, "next-day-versions")
    assert notebook.errors == []


def test_where_nbtool_is_not_loaded_the_versions_are_cells_and_the_view_says_so(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="versions-unloaded.ipynb")
    notebook.run_cell(0)
    for _ in range(2):
        notebook.run_cell(TURN)
    notebook.save()
    notebook.restart()

    notebook.output(TURN).get_by_role("button", name="Previous version").click()
    said = notebook.output(TURN).get_by_role("status")
    for count in (1, 2):
        expect(said).to_contain_text("run the selected cell, %load_ext nbtool, first, then the new one below it.")
        assert notebook.cell_count() == TURN + 2 + count
        assert notebook.page.evaluate(ACTIVE) == BELOW
        assert notebook.source(BELOW) == "%load_ext nbtool"
        assert notebook.source(NEXT).startswith("%chat branch turn_ --switch")
        if count == 1:
            notebook.output(TURN).get_by_role("button", name="Previous version").click()
            expect(notebook.page.locator(".jp-Notebook .jp-Cell")).to_have_count(TURN + 4)
    notebook.run_cell(BELOW)
    expect(notebook.run_cell(NEXT)).to_contain_text("version 1 of 2")


def test_a_notice_is_withdrawn_when_it_is_no_longer_true(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="withdrawn.ipynb")
    for cell in (0, TURN):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()
    turn = notebook.output(TURN)
    turn.get_by_role("button", name="Rerun").click()
    expect(turn).to_contain_text("nbtool is not loaded in this kernel")

    notebook.run_cell(BELOW)
    expect(turn).not_to_contain_text("nbtool is not loaded in this kernel")
    expect(turn).to_contain_text("Added as a new cell below. Review, then run it.")
    notebook.run_cell(NEXT)
    expect(turn).not_to_contain_text("Added as a new cell below")

    turn.get_by_role("button", name="Edit prompt").click(modifiers=["Alt"])
    expect(turn).to_contain_text("Added as a new cell below")
    notebook.page.evaluate(DELETE)
    expect(turn).not_to_contain_text("Added as a new cell below")
    assert notebook.errors == []


TWO_ASKS = (ASK, "%%chat -m practice:fast\nUse &`price` for AMD.")


def reopened(lab: Lab, name: str) -> Notebook:
    """Give a notebook with two turns, on the kernel of the next day that has run its first cell."""
    notebook = lab.open_cells(LOAD, *TWO_ASKS, kernel="python3", name=name)
    for cell in range(3):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)
    return notebook


@pytest.mark.journey
def test_the_code_of_a_saved_turn_is_there_at_once_and_runs(lab: Lab) -> None:
    notebook = reopened(lab, "code.ipynb")

    notebook.output(TURN).get_by_role("button", name="To code").click()
    said = notebook.output(TURN).get_by_role("status")

    expect(said).to_contain_text("Added as a new cell below. Review, then run it. 1 call")
    expect(said).to_contain_text("which is only read")
    expect(notebook.cell(BELOW)).to_be_in_viewport()
    assert 'price(ticker="NVDA")' in notebook.source(BELOW).replace("'", '"')
    assert "%chat" not in notebook.source(BELOW)
    expect(notebook.run_cell(BELOW)).not_to_contain_text("Error")


@pytest.mark.journey
def test_the_prompt_of_a_saved_turn_is_edited_and_asked_again(lab: Lab) -> None:
    notebook = reopened(lab, "edit.ipynb")

    notebook.output(TURN).get_by_role("button", name="Edit prompt").click()
    box = notebook.output(TURN).get_by_role("textbox", name="The prompt of this turn")
    expect(box).to_be_focused()
    cells = notebook.cell_count()
    box.fill(box.input_value().replace("NVDA", "INTC"))
    box.press("Enter")

    edited = notebook.output(TURN)
    expect(edited.locator("details.nb-call")).to_contain_text("INTC")
    expect(edited).to_contain_text("2/2")
    assert "INTC" in notebook.source(TURN)
    assert notebook.cell_count() == cells


def test_explore_opens_on_the_saved_turn_and_copy_copies_its_reply(lab: Lab) -> None:
    notebook = reopened(lab, "explore.ipynb")
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    notebook.output(TURN).get_by_role("button", name="Copy reply").click()
    expect(notebook.output(TURN).get_by_role("button", name="Copied")).to_be_visible()
    assert "98.7" in str(notebook.page.evaluate("() => navigator.clipboard.readText()"))
    notebook.output(TURN).get_by_role("button", name="Explore").click()
    explored = notebook.output(BELOW)

    expect(explored.get_by_role("article", name="Turn")).to_contain_text("NVDA", timeout=30_000)
    expect(explored.get_by_role("article", name="Turn")).not_to_contain_text("AMD")


@pytest.mark.journey
def test_the_earlier_chat_of_a_notebook_is_continued_by_one_click(lab: Lab) -> None:
    load, tools = LOAD.split("\n", 1)
    notebook = lab.open_cells(load, tools, ASK, kernel="python3", name="continued.ipynb")
    for cell in (0, 1, 2):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)

    bar = notebook.output(0).get_by_role("region", name="Earlier chat")
    expect(bar).to_contain_text("1 turn in this notebook's earlier chat")
    screenshot(bar, "continue-bar")
    bar.get_by_role("button", name="Continue").click()
    expect(bar.get_by_role("status")).to_contain_text("continues here as 'main'")
    bar.get_by_role("button", name="Run the cell that defines price").click()
    notebook.wait_ended(1)
    notebook.output(2).get_by_role("button", name="Rerun").click()

    expect(notebook.output(2)).to_contain_text("2/2")
    assert notebook.errors == []


@pytest.mark.journey
def test_a_cell_that_fails_in_the_bar_is_named_and_the_button_stays_for_what_is_left(lab: Lab) -> None:
    load, tools = LOAD.split("\n", 1)
    asked = f"{ASK} Think of $`means`."
    notebook = lab.open_cells(
        load, tools, "base = 1", "means = base + 1", asked, kernel="python3", name="failing.ipynb"
    )
    for cell in range(5):
        notebook.run_cell(cell)
    notebook.save()
    notebook.restart()
    notebook.run_cell(0)
    bar = notebook.output(0).get_by_role("region", name="Earlier chat")
    bar.get_by_role("button", name="Continue").click()

    bar.get_by_role("button", name="Run the 2 cells that define means, price").click()

    said = bar.get_by_role("status")
    expect(said).to_contain_text("failed: NameError: name 'base' is not defined. Run the cell that defines base first.")
    expect(said).to_contain_text("Still missing: means.")
    screenshot(bar, "continue-bar-failed")
    notebook.run_cell(2)
    bar.get_by_role("button", name="Run the cell that defines means").click()
    expect(bar.get_by_role("button")).to_have_count(0)
    expect(said).not_to_contain_text("Still missing")
