"""A server of tools asks for input during a call: a form on a card in a real page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot

PROGRAM = Path(__file__).parents[1] / "tools" / "mcp" / "asking_server.py"
SETUP = f"""
%load_ext nbtool
import sys
from nbtool.tools.mcp import mcp_servers

lab = mcp_servers({{"mcpServers": {{"lab": {{"command": sys.executable, "args": ["-I", {str(PROGRAM)!r}]}}}}}})
"""
ASK = '%%chat -m practice:fast -t lab -o answer\nUse `lab_book` with what="form".'
CHECK = "print('received:', answer.calls[-1].result, answer.calls[0].result)"


def open_form(lab: Lab, name: str = "forms.ipynb") -> Notebook:
    """Approve a call of a server that then asks, and wait for its form."""
    notebook = lab.open_cells(SETUP, ASK, CHECK, kernel="python3", name=name)
    notebook.run_cell(0)
    notebook.start_cell(1)
    approve = button(notebook, "Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    approve.click()
    expect(field(notebook, "seats")).to_be_visible(timeout=30_000)
    return notebook


def button(notebook: Notebook, name: str) -> Locator:
    return notebook.output(1).get_by_role("button", name=name, exact=True)


def field(notebook: Notebook, name: str) -> Locator:
    return notebook.output(1).locator(f'[id$="-{name}"]')


@pytest.mark.journey
@pytest.mark.promise("forms")
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_form_is_sent_once_it_is_filled_in(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = open_form(lab, f"forms-{theme}.ipynb")
    expect(notebook.output(1)).to_contain_text("lab asks you for an answer.")
    expect(notebook.output(1)).to_contain_text("Which seat?")
    expect(button(notebook, "Send")).to_be_disabled()
    screenshot(notebook.output(1), f"form-empty-{theme}")

    field(notebook, "name").fill("Ada")
    field(notebook, "seats").fill("2")
    field(notebook, "row").get_by_label("front").check()
    expect(button(notebook, "Send")).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(1), f"form-filled-{theme}")
    button(notebook, "Send").click()
    notebook.wait_ended(1)
    notebook.run_cell(2)

    received = notebook.wait_output(2, "received:").inner_text()
    assert '"action": "accept"' in received
    assert '{"name": "Ada", "row": "front", "seats": 2}' in received
    assert notebook.errors == []


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_choices_of_a_question_of_the_model_are_in_view(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    question = 'Use `ask_person` with choices=["metres","feet"] question="In which unit?"'
    ask = f"%%chat -m practice:fast -t nbtool:person -o answer\n{question}"
    cells = ("%load_ext nbtool", ask, "print('received:', answer.calls[0].result)")
    notebook = lab.open_cells(*cells, kernel="python3", name=f"question-{theme}.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    metres = notebook.output(1).get_by_role("radio", name="metres")
    expect(metres).to_be_visible(timeout=30_000)
    expect(field(notebook, "text")).to_be_visible()
    expect(notebook.output(1)).not_to_contain_text("Sensitive")
    expect(button(notebook, "Send")).to_be_disabled()
    field(notebook, "text").fill("  ")
    expect(button(notebook, "Send")).to_be_disabled()
    screenshot(notebook.output(1), f"question-empty-{theme}")

    metres.check()
    expect(button(notebook, "Send")).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(1), f"question-chosen-{theme}")
    button(notebook, "Send").click()
    notebook.wait_ended(1)
    notebook.run_cell(2)

    assert notebook.wait_output(2, "received:").inner_text().split() == ["received:", "metres"]
    assert notebook.errors == []


@pytest.mark.parametrize(("name", "action"), [("Decline", "decline"), ("Cancel", "cancel")])
def test_a_form_is_declined_or_cancelled(lab: Lab, name: str, action: str) -> None:
    notebook = open_form(lab)
    expect(button(notebook, "Decline")).to_be_enabled(timeout=30_000)
    button(notebook, name).click()
    notebook.wait_ended(1)
    notebook.run_cell(2)

    assert f'{{"action": "{action}"}}' in notebook.wait_output(2, "received:").inner_text()
