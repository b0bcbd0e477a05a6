"""Turns in VS Code, run and drawn as its extension for Jupyter does: what is seen, clicked and typed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.vscode.conftest import OpenNotebook
from tests.vscode.editor import Notebook

pytestmark = pytest.mark.nightly

SETUP = """%load_ext nbtool
import time
from nbtool import tool
received = []

@tool
def double(n: int) -> int:
    "Twice a number."
    received.append(n)
    return 2 * n

@tool(run="auto")
def wait() -> str:
    "Wait for a minute."
    for _ in range(1200):
        time.sleep(0.05)
    return "done"
"""
HELLO = "%%chat -m practice:fast\nHello."
ASK = "%%chat -m practice:fast -o answer\nUse &`double` with 21."
PARK = ASK.replace("-o answer", "-o answer --approve park")
WAIT = "%%chat -m practice:fast -o stopped\nUse &`wait`."
CALL = "print([(c.status, received, c.decisions[0].by, c.reason) for c in answer.calls])"
STATUS = "print(stopped.status)"
LATER = "later = vars().get('later', 0) + 1; print('later', later)"
PAGE_SOON = "\nfrom nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 3.0\n"
"""A page that is there connects within a second."""

PAGE_TOO_LATE = "\nfrom nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 1.0\n"

FILLER = "\n".join(f"# line {number}" for number in range(60))
HEIGHT = 700
"""Of a window in which the last of several cells is out of view."""


def see_later(notebook: Notebook) -> None:
    """Run the last cell, and wait until its output is drawn."""
    notebook.run_cell(notebook.count_cells() - 1)
    notebook.later += 1
    expect(notebook.outputs.get_by_text(f"later {notebook.later}", exact=True)).to_be_visible()


def assert_visible(notebook: Notebook, text: str) -> None:
    """Check that an output with a text is as high as what it contains, also after the output of the last cell came."""
    expect(notebook.outputs.locator(".output_container").get_by_text(text).last).to_be_visible()
    see_later(notebook)
    notebook.wait_outputs_whole()


def approve_button(notebook: Notebook) -> Locator:
    """Return the button of the card that is shown, once it can be clicked."""
    button = notebook.turn.get_by_role("button", name="Approve")
    expect(button).to_be_enabled()
    return button


def low_window(notebook: Notebook) -> Page:
    notebook.page.set_viewport_size({"width": 1200, "height": HEIGHT})
    return notebook.page


def test_doctor_names_vs_code_and_both_ways_of_a_click(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, "%chat status --check"])
    notebook.run_cell(0)
    notebook.run_cell(1)

    text = notebook.wait_text(1, "click by control")
    assert "VS Code, connected after" in text
    assert [line.split()[0] for line in text.splitlines() if "click by" in line] == ["yes", "yes"]


def test_the_first_short_turn_of_a_window_is_visible(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, HELLO, LATER])
    notebook.run_cell(0)
    notebook.run_cell(1)

    assert_visible(notebook, "I am nbtool's embedded practice model")


def test_a_cell_that_runs_again_and_again_is_visible(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, HELLO, LATER])
    notebook.run_cell(0)

    for _ in range(6):
        notebook.run_cell(1)
        assert_visible(notebook, "I am nbtool's embedded practice model")


def test_calls_are_approved_denied_and_edited_while_the_cell_runs(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, ASK, CALL, LATER])
    notebook.run_cell(0)

    notebook.start_cell(1)
    approve_button(notebook).click()
    notebook.wait_ended(1)
    assert_visible(notebook, "42")
    notebook.run_cell(2)
    assert notebook.wait_text(2, "[") == "[('ok', [21], 'button', '')]\n"

    notebook.start_cell(1)
    approve_button(notebook)
    reason = notebook.turn.get_by_placeholder(re.compile("Reason"))
    reason.press_sequentially("a dd z: not today")
    reason.press("Enter")
    notebook.wait_ended(1)
    assert_visible(notebook, "gave no result")
    notebook.run_cell(2)
    assert "'denied', [21], 'button', 'a dd z: not today'" in notebook.wait_text(2, "denied")
    assert notebook.count_cells() == 4

    notebook.start_cell(1)
    approve_button(notebook)
    notebook.turn.get_by_role("button", name="Edit").click()
    field = notebook.turn.get_by_role("textbox", name=re.compile("^n"))
    field.fill("4")
    approve_button(notebook)
    field.press("Control+Enter")
    notebook.wait_ended(1)
    assert_visible(notebook, "8")
    notebook.run_cell(2)
    assert "('ok', [21, 4], 'button'" in notebook.wait_text(2, "ok")


def test_a_synchronous_tool_is_stopped_and_a_parked_call_is_approved_after_its_cell(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP, WAIT, PARK, CALL, LATER])
    notebook.run_cell(0)
    notebook.start_cell(1)
    notebook.turn.get_by_role("button", name="Stop", exact=True).first.click()
    notebook.wait_ended(1)
    assert_visible(notebook, "Stopped before it was finished.")

    notebook.run_cell(2)
    assert not notebook.is_running(2)
    approve_button(notebook).click()
    notebook.run_cell(3)
    assert "('ok'" in notebook.wait_text(3, "ok")


def test_a_call_of_a_cell_out_of_view_waits_for_its_card_and_asks_for_no_line(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + PAGE_SOON, FILLER, FILLER, ASK, CALL])
    low_window(notebook)
    notebook.start_all()
    notebook.wait_begun(3)
    notebook.wait_text(3, "A turn: show this output")
    notebook.wait_widget(3)

    expect(notebook.input_box).to_have_count(0)
    notebook.command("reveal", cell=3)
    approve_button(notebook).click()
    notebook.wait_ended(4)
    assert "'button'" in notebook.wait_text(4, "ok")


def test_a_call_whose_output_is_collapsed_waits_for_its_card(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + PAGE_SOON, ASK, CALL])
    notebook.run_cell(0)
    notebook.command("run", command="notebook.cell.collapseAllCellOutputs")
    notebook.start_cell(1)
    notebook.wait_widget(1)

    expect(notebook.input_box).to_have_count(0)
    notebook.command("run", command="notebook.cell.expandAllCellOutputs")
    approve_button(notebook).click()
    notebook.wait_ended(1)
    notebook.run_cell(2)
    assert "'button'" in notebook.wait_text(2, "ok")


def test_a_click_while_a_line_of_input_is_open_ends_the_cell(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + PAGE_TOO_LATE, ASK, CALL], settings={"nbtoolTests.widgetModules": "late"})
    notebook.run_cell(0)
    notebook.start_cell(1)
    expect(notebook.input_box).to_contain_text("Run it?")
    approve_button(notebook).click()
    notebook.wait_ended(1)

    notebook.page.keyboard.press("Escape")
    notebook.run_cell(2)
    assert "'button'" in notebook.wait_text(2, "ok")


def test_without_modules_of_widgets_the_cell_ends_by_input_and_names_the_setting(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + PAGE_TOO_LATE, ASK, CALL], settings={"nbtoolTests.widgetModules": "missing"})
    notebook.run_cell(0)
    notebook.start_cell(1)
    expect(notebook.input_box).to_contain_text("Run it?")
    assert "jupyter.widgetScriptSources" in notebook.wait_text(1, "--approve later")
    notebook.page.keyboard.type("y")
    notebook.page.keyboard.press("Enter")
    notebook.wait_ended(1)
    notebook.run_cell(2)

    assert "'input'" in notebook.wait_text(2, "ok")
    assert "jupyter.widgetScriptSources" not in notebook.text_of(1)
    assert "for a page of this notebook" not in notebook.text_of(1)


def test_a_saved_turn_is_readable_in_a_new_window_without_its_kernel(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, HELLO, ASK])
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.start_cell(2)
    approve_button(notebook)
    notebook.command("run", command="workbench.action.files.save")
    notebook.page.close()

    again = open_notebook(notebook.path)
    expect(again.outputs.get_by_text("I am nbtool's embedded practice model")).to_be_visible()
    expect(again.outputs.get_by_text("had not ended when")).to_be_visible()
    expect(again.outputs.get_by_text("does not support widgets")).to_have_count(0)
    expect(again.outputs.get_by_role("button")).to_have_count(0)
    again.wait_outputs_whole()


def test_a_window_that_is_reloaded_while_a_call_waits_says_that_the_turn_had_not_ended(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP, HELLO, ASK])
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.start_cell(2)
    approve_button(notebook)
    notebook.command("run", command="workbench.action.files.save")
    notebook.reload()

    expect(notebook.outputs.get_by_text("I am nbtool's embedded practice model")).to_be_visible()
    expect(notebook.outputs.get_by_text("had not ended when")).to_be_visible()
    expect(notebook.outputs.get_by_role("button")).to_have_count(0)
    notebook.run_cell(0)
    notebook.start_cell(2)
    approve_button(notebook).click()
    notebook.wait_ended(2)
    expect(notebook.outputs.get_by_text("42").last).to_be_visible()
