"""The corrected cell of `%chat fix`, as a difference to the one that failed: one click replaces and runs it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, Notebook, screenshot

SETUP = """%load_ext nbtool
from nbtool import Chat
from nbtool.testing import ScriptedWire
ANSWER = "It is called `mass`.\\n\\n```python\\nbirds = {'mass': [1, 2]}\\nprint(sum(birds['mass']))\\n```"
mine = Chat(wire=ScriptedWire([ANSWER]))
%chat open mine"""
FAILING = "birds = {'mass': [1, 2]}\nprint(sum(birds['weight']))"
FAILED, FIX = 1, 2


def ask(lab: Lab, name: str) -> tuple[Notebook, Locator]:
    """Let a cell fail and ask about it; give the notebook and the correction."""
    notebook = lab.open_cells(SETUP, FAILING, "%chat fix", kernel="python3", name=name)
    for cell in (0, FAILED, FIX):
        notebook.run_cell(cell)
    return notebook, notebook.output(FIX).get_by_role("region", name="Correction")


@pytest.mark.journey
def test_one_click_replaces_the_cell_that_failed_and_runs_it(lab: Lab) -> None:
    notebook, correction = ask(lab, "fix.ipynb")
    expect(correction).to_contain_text("What changes in cell [2]")
    screenshot(notebook.output(FIX), "fix")
    cells = notebook.cell_count()

    button = correction.get_by_role("button", name="Replace and run")
    expect(button).to_be_enabled()
    button.click()

    notebook.wait_output(FAILED, "3")
    assert "birds['mass']" in notebook.source(FAILED)
    assert notebook.cell_count() == cells
    assert notebook.errors == []


def test_a_cell_that_was_changed_since_is_not_replaced_and_both_can_be_kept(lab: Lab) -> None:
    notebook, correction = ask(lab, "changed.ipynb")
    expect(correction.get_by_role("button", name="Replace and run")).to_be_enabled()
    notebook.write_cell(FAILED, "mine = 1")

    correction.get_by_role("button", name="Replace and run").click()
    expect(correction.get_by_role("status")).to_contain_text("nothing was replaced")
    assert notebook.source(FAILED) == "mine = 1"
    correction.get_by_role("button", name="Keep both").click()

    expect(correction.get_by_role("button")).to_have_count(0)
    assert "birds['mass']" in notebook.source(FIX + 1)
