"""A cell that is run again while its turn waits for a decision: its question is not lost in silence."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, older_kernel_nightly, screenshot
from tests.browser.test_chat import ASK, CHECK, card, chat

NOTE = "This cell was run again while cheapest waited for your decision: that turn was stopped"


@older_kernel_nightly
@pytest.mark.parametrize("keys", ["Control+Enter", "Shift+Enter"])
def test_a_cell_that_is_run_again_stops_the_turn_that_waits_and_says_so(lab: Lab, kernel: str, keys: str) -> None:
    notebook = chat(lab, kernel, ASK, CHECK)
    notebook.start_cell(1)
    card(notebook, 1)

    notebook.cell(1).locator(".jp-InputPrompt").click()
    notebook.page.keyboard.press(keys)
    notebook.wait_output(1, NOTE)
    again = card(notebook, 1)
    screenshot(again, f"run-again-{kernel}")
    expect(again.locator(".nb-card")).to_have_count(1)
    again.get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)

    notebook.wait_output(1, "BBB")
    expect(again.get_by_text("2/2")).to_be_visible()
    notebook.run_cell(2)
    notebook.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    again.get_by_role("button", name="Previous version").click()
    notebook.wait_output(1, "Stopped before it was finished.")
    again.locator(".nb-call", has_text="cheapest").locator("summary").first.click()
    notebook.wait_output(1, "The call did not run, because the turn was stopped.")
    assert notebook.errors == []
