"""Decisions of a reviewing model, kept answers and edited replies in JupyterLab, as a person meets them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, screenshot

SETUP = """
%load_ext nbtool
from nbtool import Chat, Reviewer, tool
from nbtool.testing import ScriptedWire, call

@tool
def pay(amount: int) -> int:
    "Pay an amount."
    return amount

YES = '{"decision": "approve", "reason": "One is below five."}'
NO = '{"decision": "hand_on", "reason": "Nine is not below five."}'
reviewing = Chat(wire=ScriptedWire([YES, NO]))
careful = Chat(
    wire=ScriptedWire([[call("pay", amount=1)], [call("pay", amount=9)], "Both are paid."]), tools=[pay],
    approver=Reviewer(reviewing, rules="Approve payments below five."),
)
"""


@pytest.mark.journey
def test_what_a_reviewer_hands_on_is_on_the_card_with_its_reason(lab: Lab) -> None:
    notebook = lab.open_cells(SETUP, "%%chat -c careful\nPay both.", kernel="python3", name="reviewer.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    turn = notebook.output(1)

    expect(turn).to_contain_text("Handed on by the reviewer: Nine is not below five.")
    expect(turn.get_by_role("button", name="Approve")).to_have_count(1)
    screenshot(turn, "reviewer-handed-on")
    turn.get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)

    expect(turn).to_contain_text("Both are paid.")
    rows = turn.locator("details.nb-call")
    if rows.count():
        rows.first.locator("summary").click()
    expect(turn).to_contain_text("One is below five.")
    screenshot(turn, "reviewer-approved")
    assert notebook.errors == []


def test_an_edited_reply_is_a_marked_version_of_its_turn(lab: Lab) -> None:
    notebook = lab.open_cells(
        "%load_ext nbtool\n%config NbTool.model = 'practice:fast'", "%%chat\nSay one", "%%chat --edit 1:reply\nTwo.",
        "%chat explore", kernel="python3", name="edited.ipynb",
    )  # fmt: skip
    for index in range(3):
        notebook.run_cell(index)
    turn = notebook.output(2)
    expect(turn).to_contain_text("You edited the last reply of this turn")
    expect(turn).to_contain_text("Two.")

    notebook.run_cell(3)
    explorer = notebook.output(3).locator(".nb-explorer")
    explorer.get_by_role("button", name="Edit reply").click()

    expect(notebook.cell(4)).to_contain_text(":reply")
    expect(notebook.cell(4)).to_contain_text("Two.")
