"""A turn says whether later prompts see it: also after the page was loaded anew, and in a later kernel."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot

LOAD = "%load_ext nbtool"
FIRST = "%%chat -m practice:fast\nHello."
SECOND = "%%chat -m practice:fast\nAnd now?"
BACK = "%chat branch b1"
CHATS = "import nbtool\nprint(list(nbtool.chats()))"
EDITED = "%%chat -m practice:fast --edit 1\nGood evening."
NOTE = "Not on the current line"


def two_branches(lab: Lab, name: str) -> Notebook:
    """Run two turns, and the first one again with another prompt in a cell of its own: the first two are left."""
    notebook = lab.open_cells(LOAD, FIRST, SECOND, EDITED, BACK, CHATS, kernel="python3", name=name)
    for at in range(4):
        notebook.run_cell(at)
    expect(notes(notebook, 1)).to_have_count(1)
    return notebook


def notes(notebook: Notebook, at: int) -> Locator:
    return notebook.output(at).locator(".nb-notice").filter(has_text=NOTE)


def expect_notes(notebook: Notebook, *have: bool) -> None:
    for at, has in enumerate(have, 1):
        expect(notes(notebook, at)).to_have_count(int(has))


@pytest.mark.journey
def test_the_note_of_a_turn_is_true_after_a_reload_and_another_change_of_the_branch(lab: Lab) -> None:
    notebook = two_branches(lab, "left.ipynb")
    notebook.save()
    notebook.reload()
    expect_notes(notebook, True, True, False)

    notebook.run_cell(4)
    expect_notes(notebook, False, False, True)

    notebook.output(3).get_by_role("button", name="Go back here").click()
    expect_notes(notebook, True, True, False)
    assert notebook.errors == []


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_branch_is_copied_from_its_note_with_the_keys(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = two_branches(lab, f"named-{theme}.ipynb")
    left, press = notebook.output(1), notebook.page.keyboard.press

    left.get_by_role("button", name="Copy to a chat").focus()
    press("Enter")
    field = left.get_by_role("textbox", name="Name of the chat that gets a copy")
    expect(field).to_be_focused()
    notebook.page.keyboard.type("morning")
    screenshot(left, f"branch-named-{theme}")
    press("Enter")

    expect(left).to_contain_text("The chat morning has copies of 2 turns")
    notebook.run_cell(5)
    notebook.wait_output(5, "morning")
    assert notebook.errors == []


@pytest.mark.journey
def test_a_branch_is_copied_in_the_explorer_with_the_keys(lab: Lab) -> None:
    notebook = two_branches(lab, "explored.ipynb")
    notebook.write_cell(4, "%chat explore")
    notebook.run_cell(4)
    found, press = notebook.output(4).locator(".nb-explorer"), notebook.page.keyboard.press
    turn = found.get_by_role("article", name="Turn")
    expect(turn).to_contain_text("Good evening.")

    turn.get_by_role("button", name="Copy to a chat").focus()
    press("Enter")
    notebook.page.keyboard.type("evening")
    screenshot(found, "branch-named-explorer")
    press("Enter")

    expect(found.get_by_role("status").filter(has_text="The chat evening has copies of 1 turn")).to_be_visible()
    expect(turn.get_by_role("button", name="Copy to a chat")).to_be_focused()
    notebook.run_cell(5)
    notebook.wait_output(5, "evening")
    assert notebook.errors == []
