"""Turns in VS Code, as its extension for Jupyter shows them: what is seen, clicked and typed."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.vscode.conftest import OpenNotebook
from tests.vscode.editor import Notebook

SETUP = """%load_ext nbtool
import time
from nbtool import tool

@tool
def double(n: int) -> int:
    "Twice a number."
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
CALL = "print([(c.status, c.arguments, c.decisions[0].by, c.reason) for c in answer.calls])"
LATER = "later = vars().get('later', 0) + 1; print('later', later)"
FILLER = "\n".join(f"# line {number}" for number in range(45))


def see_later(notebook: Notebook) -> None:
    """Run the last cell, and wait until its output is drawn."""
    notebook.run_cell(notebook.count_cells() - 1)
    notebook.later += 1
    expect(notebook.outputs.get_by_text(f"later {notebook.later}", exact=True)).to_be_visible()


def assert_visible(notebook: Notebook, text: str) -> None:
    """Check that an output with a text is as high as what it contains, also after the output of the last cell came."""
    expect(notebook.outputs.get_by_text(text).last).to_be_visible()
    see_later(notebook)
    notebook.wait_outputs_whole()


def test_doctor_names_vs_code_and_both_ways_of_a_click(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, "%chat doctor"])
    notebook.run_cell(0)
    notebook.run_cell(1)

    said = notebook.text_of(1)
    assert "VS Code, connected after" in said
    assert [line.split()[0] for line in said.splitlines() if "click by" in line] == ["yes", "yes"]


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
