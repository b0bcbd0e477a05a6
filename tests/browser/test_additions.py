"""What a person types under a running turn in JupyterLab: it joins the turn, or is the next prompt."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot

SETUP = """
%load_ext nbtool
import time
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call

released = set()

@tool(run="auto", thread=True)
def read(name: str) -> str:
    "Read a list."
    while name not in released:
        time.sleep(0.05)
    return "a long list"

def answer(prompt):
    return "The model read: " + " | ".join(message.text for message in prompt.messages if message.role == "user")

chat = Chat(wire=ScriptedWire([[call("read", name="a")], answer, answer]), tools=[read])
"""
PROMPT = "%%chat -c chat\nList them."
FIELD = "Add to this turn: the model gets it with its next request"


def opened(lab: Lab, name: str, *cells: str) -> tuple[Notebook, Locator]:
    notebook = lab.open_cells(SETUP, PROMPT, *cells, kernel="python3", name=f"{name}.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    turn = notebook.output(1)
    expect(turn).to_contain_text("read")
    return notebook, turn


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_line_under_a_running_turn_joins_its_next_request(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook, turn = opened(lab, f"add-{theme}")
    field = turn.get_by_label(FIELD)

    field.fill("Only the first three.")
    field.press("Enter")

    expect(turn).to_contain_text("Added: the model gets it with its next request.")
    expect(field).to_have_value("")
    screenshot(turn, f"add-text-{theme}")
    turn.get_by_role("button", name="Stop read").click()
    notebook.wait_ended(1)
    expect(turn).to_contain_text("You added: Only the first three.")
    expect(turn).to_contain_text("The model read: List them.")
    expect(turn.get_by_label(FIELD)).to_have_count(0)
    assert notebook.errors == []


def test_the_next_prompts_are_cells_below_in_their_order_that_run_when_this_one_has_ended(lab: Lab) -> None:
    notebook, turn = opened(lab, "next")
    field = turn.get_by_label(FIELD)

    for number, text in ((2, "And then?"), (3, "And last?")):
        field.fill(text)
        field.press("Alt+Enter")
        expect(notebook.cell(number)).to_contain_text(text)
    expect(turn).to_contain_text("Asked next: it runs in a cell below when this one has ended.")
    expect(field).to_be_focused()

    assert (notebook.is_running(2), notebook.is_running(3)) == (True, True)
    turn.get_by_role("button", name="Stop read").click()
    notebook.wait_ended(3)
    expect(notebook.output(2)).to_contain_text("And then?")
    assert [notebook.source(number) for number in (2, 3)] == [
        "%%chat -c chat\nAnd then?", "%%chat -c chat\nAnd last?",
    ]  # fmt: skip


def test_what_is_added_to_a_turn_that_is_stopped_is_shown_under_it(lab: Lab) -> None:
    notebook, turn = opened(lab, "stopped")
    field = turn.get_by_label(FIELD)
    field.fill("Only the first three.")
    field.press("Enter")
    expect(turn).to_contain_text("Added: the model gets it with its next request.")

    turn.get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_ended(1)

    expect(turn).to_contain_text("Not sent, because the turn ended before its next request: Only the first three.")
