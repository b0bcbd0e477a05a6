"""A call whose object changes before it is approved: its card is replaced, and the old buttons are dead."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, Notebook, screenshot
from tests.browser.test_parking import card, park
from tests.browser.test_two_pages import reopen_notebook

SETUP = """
%load_ext nbtool
from nbtool import tool

basket, paid = ["milk"], []

@tool
def pay(items: object) -> str:
    "Pay for items."
    paid.append(list(items))
    return f"paid {len(items)} items"
"""
ASK = "%%chat -m practice:fast --approve park -v basket -o answer\nUse &`pay` with $`basket`."
CHANGE = "basket.append('yacht')"
CHECK = "print('paid:', paid, '|', answer.status)"
CHANGED = "Asked again: it has changed since it was shown."


def park_changed(lab: Lab, *cells: str, ask: str = ASK) -> Notebook:
    """Let a question wait and change what it is about."""
    notebook = park(lab, "python3", CHANGE, CHECK, *cells, setup=SETUP, ask=ask)
    card(notebook)
    notebook.run_cell(2)
    return notebook


def approve_button(notebook: Notebook) -> Locator:
    """Give the live button that approves."""
    return notebook.output(1).get_by_role("button", name="Approve", exact=True)


@pytest.mark.journey
def test_the_card_is_replaced_by_one_that_shows_the_difference_and_a_double_click_approves_nothing_new(
    lab: Lab,
) -> None:
    notebook = park_changed(lab)

    approve_button(notebook).dblclick()

    notebook.wait_output(1, CHANGED)
    notebook.wait_output(1, "list, 2 items")
    screenshot(notebook.page, "asked-again")
    expect(notebook.output(1)).not_to_contain_text("yacht")
    notebook.run_cell(3)
    notebook.wait_output(3, "paid: [] | parked")
    expect(approve_button(notebook)).to_have_count(1)
    expect(approve_button(notebook)).to_be_enabled()
    approve_button(notebook).click()
    notebook.wait_output(1, "paid 2 items")
    notebook.run_cell(3)
    notebook.wait_output(3, "paid: [['milk', 'yacht']] | completed")
    assert notebook.errors == []


def test_what_was_added_to_an_object_that_may_be_read_is_on_the_card(lab: Lab) -> None:
    notebook = park_changed(lab, ask=ASK.replace("-v basket", "-v basket --read basket"))

    approve_button(notebook).click()

    notebook.wait_output(1, CHANGED)
    expect(notebook.output(1).locator(".nb-added")).to_contain_text(["basket: list, 2 items", "yacht"])
    screenshot(notebook.page, "asked-again-content")


def test_an_approval_of_the_old_card_on_another_page_does_not_approve_the_new_one(lab: Lab) -> None:
    notebook = park_changed(lab)
    other = reopen_notebook(lab, notebook)
    card(other)
    stale = approve_button(other).element_handle()

    approve_button(notebook).click()
    notebook.wait_output(1, CHANGED)
    stale.evaluate("button => button.click()")

    other.wait_output(1, CHANGED)
    notebook.run_cell(3)
    notebook.wait_output(3, "paid: [] | parked")
    expect(approve_button(other)).to_be_enabled()
    approve_button(other).click()
    notebook.wait_output(1, "paid 2 items")
    assert notebook.errors == other.errors == []
