"""Every text is readable in the themes that VS Code comes with: a live turn, its card, its end, and the explorer.

Leaves pictures of each in `build/shots`.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.contrast import find_faint_texts
from tests.browser.lab import screenshot
from tests.browser.states import REPLY
from tests.vscode.conftest import OpenNotebook
from tests.vscode.editor import THEMES, Notebook, Theme

pytestmark = pytest.mark.nightly

SETUP = f"""%load_ext nbtool
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call

@tool(run="auto")
def look(table: str) -> dict:
    "Look at a table."
    return {{"rows": 333, "columns": ["species", "island"]}}

@tool
def update(name: str, value: int) -> str:
    "Change a value."
    return "changed"

first = ["Let me look at `df` first, with `df.describe()`:", call("look", table="penguins")]
second = [{REPLY!r}, call("update", name="theme", value=3)]
chat = Chat(wire=ScriptedWire([first, second, "Done: `theme` is 3."]).__enter__(), tools=[look, update])
"""
ASK = "%%chat -c chat\nWhich species is heaviest?"
LIVE = ".nb-turn"
ALL = ".output_container"


def assert_readable(notebook: Notebook, selector: str, picture: str) -> None:
    screenshot(notebook.page, f"vscode-{picture}")
    assert find_faint_texts(notebook.output_frame, selector) == []


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_is_readable(open_notebook: OpenNotebook, theme: Theme) -> None:
    notebook = open_notebook([SETUP, ASK, "%chat -c chat explore"], theme=theme)
    notebook.page.set_viewport_size({"width": 1100, "height": 2400})
    notebook.run_cell(0)
    notebook.start_cell(1)
    expect(notebook.turn.get_by_role("button", name="Approve")).to_be_enabled()
    expect(notebook.turn.locator(".nb-hl-comment").first).to_be_visible()
    assert_readable(notebook, LIVE, f"card-{theme}")
    ground = notebook.output_frame.evaluate(
        "getComputedStyle(document.querySelector('.nb-turn').parentElement).background"
    )
    assert "rgba(0, 0, 0, 0)" in ground

    notebook.turn.get_by_role("button", name="Edit", exact=True).click()
    expect(notebook.turn.get_by_role("textbox").first).to_be_visible()
    assert_readable(notebook, LIVE, f"editing-{theme}")
    notebook.turn.get_by_role("button", name="Deny").click()
    notebook.wait_ended(1)
    expect(notebook.outputs.get_by_text("Done: theme is 3.", exact=True)).to_be_visible()
    for summary in notebook.outputs.locator("details > summary").all():
        summary.click()
    notebook.wait_outputs_whole()
    assert_readable(notebook, ALL, f"ended-{theme}")

    notebook.run_cell(2)
    notebook.outputs.locator(".nb-x-row").first.click()
    expect(notebook.turn.locator(".nb-x-rounds").first).to_be_visible()
    assert_readable(notebook, LIVE, f"explorer-{theme}")
