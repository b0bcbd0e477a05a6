"""Keys that are pressed in a turn change no cell, and Ctrl+S and the like do there what they do everywhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PANEL, Front, Lab, Notebook, screenshot
from tests.browser.test_approval_card import RAN, THREE
from tests.browser.test_approval_card import card as approval_card
from tests.browser.test_approval_card import chat as approval_chat
from tests.browser.test_chat import ASK, card, chat

COMMANDS = ["d", "d", "a", "b", "x", "m", "y", "1", "z", "ArrowDown", "k", "Shift+M"]
"""What JupyterLab does in its command mode at these: it deletes, adds, cuts, turns and leaves cells."""

CELLS = (
    "() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].map((one) => one.className.match(/jp-\\w+Cell/)[0])"
)
CHOSEN = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


def press(notebook: Notebook, where: Locator) -> None:
    """Focus something of a turn, and press the keys of all commands there."""
    where.focus()
    for key in COMMANDS:
        notebook.page.keyboard.press(key)


IN_TURN = "() => document.activeElement.matches('.nb-turn')"
IN_CELL = "() => document.activeElement.matches('.jp-Cell')"


def test_the_keys_of_a_question_are_shown_where_it_has_the_focus_and_the_last_decision_leaves_it_in_the_turn(
    lab: Lab,
) -> None:
    notebook = chat(lab, "python3", ASK, "1")
    notebook.start_cell(1)
    live = card(notebook, 1)
    before, chosen = notebook.page.evaluate(CELLS), notebook.page.evaluate(CHOSEN)
    hint = live.locator(".nb-item .nb-keys")
    place = live.get_by_role("button", name="Approve", exact=True).bounding_box()
    expect(hint).to_be_hidden()

    live.get_by_role("button", name="Deny", exact=True).focus()
    expect(hint).to_be_visible()
    expect(hint).to_have_text("Ctrl+Enter approve · Ctrl+Shift+Enter deny")
    assert live.get_by_role("button", name="Approve", exact=True).bounding_box() == place
    notebook.page.keyboard.press("Control+Enter")
    notebook.page.keyboard.press("Control+Enter")  # held or pressed twice: it runs no cell
    expect(live.locator(".nb-card")).to_have_count(0)
    for key in COMMANDS:
        notebook.page.keyboard.press(key)
    notebook.wait_ended(1)
    expect(live.locator(".nb-saved")).to_be_visible()
    notebook.page.wait_for_function(IN_TURN)
    for key in COMMANDS:
        notebook.page.keyboard.press(key)

    assert (notebook.page.evaluate(CELLS), notebook.page.evaluate(CHOSEN)) == (before, chosen)
    assert notebook.output(1).get_by_text("2/2").count() == 0
    live.locator(".nb-call > summary").first.click()
    notebook.cell(1).locator(".jp-InputPrompt").click()
    expect(live.locator(".nb-turn")).not_to_have_attribute("tabindex", "-1")
    assert notebook.errors == []


def test_a_click_on_the_prompt_or_escape_gives_the_focus_back_to_the_cell_whose_keys_run_it_again(lab: Lab) -> None:
    notebook = chat(lab, "python3", ASK, "1")
    notebook.start_cell(1)
    card(notebook, 1).get_by_role("button", name="Approve", exact=True).press("Enter")
    notebook.wait_ended(1)
    notebook.page.wait_for_function(IN_TURN)

    notebook.start_cell(1)  # it clicks the prompt
    card(notebook, 1).get_by_role("button", name="Deny", exact=True).focus()
    notebook.page.keyboard.press("Escape")
    expect(notebook.output(1).locator(".nb-item")).to_be_focused()
    notebook.page.keyboard.press("Control+Enter")
    notebook.wait_ended(1)
    notebook.wait_output(1, "2/2")
    notebook.page.wait_for_function(IN_TURN)
    notebook.page.keyboard.press("Escape")
    notebook.page.wait_for_function(IN_CELL)
    notebook.page.keyboard.press("Control+Enter")

    card(notebook, 1).get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_output(1, "3/3")
    notebook.wait_ended(1)
    notebook.output(1).get_by_role("button", name="Copy reply").focus()
    notebook.cell(1).locator(".jp-InputPrompt").click()
    notebook.page.wait_for_function(IN_CELL)
    assert notebook.errors == []


EDITED = f"() => {PANEL}.content.widgets[2].editor.hasFocus()"


@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_after_a_click_that_decides_or_stops_the_keys_act_on_the_notebook(lab: Lab, front: Front) -> None:
    notebook = chat(lab, "python3", ASK, "1 + 1", front=front)
    keyboard, page = notebook.page.keyboard, notebook.page
    notebook.start_cell(1)

    card(notebook, 1).get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_ended(1)
    expect(notebook.output(1).locator(".nb-saved")).to_be_visible()
    page.wait_for_function(IN_CELL)
    assert page.evaluate(CHOSEN) == 1
    keyboard.press("ArrowDown")
    assert page.evaluate(CHOSEN) == 2
    keyboard.press("Shift+Enter")
    notebook.wait_ended(2)

    notebook.start_cell(1)
    card(notebook, 1).get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_ended(1)
    page.wait_for_function(IN_CELL)
    before = notebook.cell_count()
    keyboard.press("b")
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(before + 1)
    assert page.evaluate(CHOSEN) == 2


def test_a_click_that_decides_takes_the_focus_from_nothing_that_is_typed_in_meanwhile(lab: Lab) -> None:
    notebook = chat(lab, "python3", ASK, "1 + 1")
    notebook.start_cell(1)

    card(notebook, 1).get_by_role("button", name="Approve", exact=True).click()
    notebook.cell(2).locator(".cm-content").click()
    notebook.page.wait_for_function(EDITED)
    notebook.wait_ended(1)
    expect(notebook.output(1).locator(".nb-saved")).to_be_visible()
    notebook.page.keyboard.type("0")

    assert notebook.page.evaluate(EDITED)
    assert notebook.source(2).replace("0", "") == "1 + 1" != notebook.source(2)
    assert notebook.errors == []


@pytest.mark.journey
def test_of_several_questions_the_keys_decide_the_one_that_is_marked(lab: Lab) -> None:
    notebook = approval_chat(lab, THREE, RAN)
    asked = approval_card(notebook, 1)
    hint = asked.locator(":scope > .nb-keys")
    items = asked.locator(".nb-item")
    mark = "el => getComputedStyle(el, '::before').borderLeftStyle"
    expect(hint).to_be_hidden()

    items.nth(1).get_by_role("button", name="Approve", exact=True).focus()
    expect(hint).to_be_visible()
    expect(hint).to_have_text("Only the marked call: Ctrl+Enter approve · Ctrl+Shift+Enter deny")
    assert [items.nth(n).evaluate(mark) for n in range(3)] == ["none", "solid", "none"]
    screenshot(asked, "card-keys")
    notebook.page.keyboard.press("Control+Enter")
    expect(items).to_have_count(2)
    expect(asked).to_contain_text('price(ticker="BBB"): The call was approved.')
    asked.get_by_role("button", name="Deny all 2").click()

    expect(asked).to_have_count(0)
    notebook.wait_ended(1)
    notebook.run_cell(2)
    notebook.wait_output(2, "['BBB'] ['denied', 'ok', 'denied']")
    assert notebook.errors == []


def test_no_key_that_is_pressed_in_a_turn_changes_the_notebook(lab: Lab) -> None:
    notebook = chat(lab, "python3", ASK, "1")
    notebook.start_cell(1)
    live = card(notebook, 1)
    before, chosen = notebook.page.evaluate(CELLS), notebook.page.evaluate(CHOSEN)

    for name in ("Stop", "Deny", "Edit", "Approve"):
        press(notebook, live.get_by_role("button", name=name, exact=True))
    for field in (
        live.locator(".nb-call > summary").first,
        live.get_by_label("Remember the decision"),
        live.locator(".nb-card"),
    ):
        press(notebook, field)
    press(notebook, live.get_by_label("Reason, if you deny"))
    typed = live.get_by_label("Reason, if you deny").input_value()
    lived = notebook.page.evaluate(CELLS), notebook.page.evaluate(CHOSEN)

    live.get_by_label("Reason, if you deny").fill("")
    live.get_by_label("Remember the decision").select_option(index=0)  # the keys have chosen another
    live.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_ended(1)
    saved = notebook.wait_output(1, "BBB")
    for name in ("Copy reply", "Rerun", "Explore"):
        press(notebook, saved.get_by_role("button", name=name))
    press(notebook, saved.locator(".nb-call > summary").first)

    assert lived == (before, chosen)
    assert typed == "ddabxmy1zkM"
    expect(notebook.page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(before))
    assert (notebook.page.evaluate(CELLS), notebook.page.evaluate(CHOSEN)) == (before, chosen)
    assert notebook.errors == []


OF_CELLS = [*COMMANDS, "Control+a", "Control+Backspace", "Control+Shift+m", "Control+Shift+ArrowUp"]
"""Keys of JupyterLab's command mode, those with Ctrl too: they select, merge and move cells."""

SOURCES = f"() => {PANEL}.content.widgets.map(({{ model }}) => model.sharedModel.getSource())"
SELECTED = f"() => {PANEL}.content.selectedCells.length"
MARK_DIRTY = f"() => {{ {PANEL}.context.model.dirty = true; }}"
IS_SAVED = f"() => {PANEL}.context.model.dirty === false"


def save_by_keys(notebook: Notebook) -> None:
    """Press Ctrl+S where the focus is, and wait until nothing is left to be saved."""
    notebook.page.evaluate(MARK_DIRTY)
    notebook.page.keyboard.press("Control+s")
    notebook.page.wait_for_function(IS_SAVED, timeout=10_000)


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_ctrl_s_saves_from_a_field_a_fold_and_a_button_of_a_turn_and_no_key_changes_a_cell(
    lab: Lab, front: Front
) -> None:
    notebook = chat(lab, "python3", ASK, "1", front=front)
    own_errors = [*notebook.errors]  # Notebook 7 has one of its own when it opens
    notebook.start_cell(1)
    live = card(notebook, 1)
    keyboard = notebook.page.keyboard
    before = notebook.page.evaluate(SOURCES), notebook.page.evaluate(CHOSEN), notebook.page.evaluate(SELECTED)

    reason = live.get_by_label("Reason, if you deny")
    reason.click()
    keyboard.type("no")
    save_by_keys(notebook)
    expect(reason).to_have_value("no")
    expect(reason).to_be_focused()
    keyboard.press("Control+z")
    expect(reason).to_have_value("")

    live.get_by_role("button", name="Approve", exact=True).press("Enter")
    notebook.wait_ended(1)
    saved = notebook.wait_output(1, "BBB")
    notebook.page.wait_for_function(IN_TURN)
    save_by_keys(notebook)
    for key in OF_CELLS:
        keyboard.press(key)
    saved.locator(".nb-call > summary").first.click()
    save_by_keys(notebook)
    for key in OF_CELLS:
        keyboard.press(key)
    keyboard.press("Control+f")

    expect(notebook.page.locator(".jp-DocumentSearch-overlay")).to_be_visible()
    after = notebook.page.evaluate(SOURCES), notebook.page.evaluate(CHOSEN), notebook.page.evaluate(SELECTED)
    assert after == before
    assert notebook.errors == own_errors
