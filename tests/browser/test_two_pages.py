"""A turn that goes on behind several pages, or behind one that is loaded anew: they agree, and a click counts once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook
from tests.browser.test_parking import CHECK, SETUP, card, park


def reopen_notebook(lab: Lab, notebook: Notebook) -> Notebook:
    """Open the notebook on another page, as it was saved now."""
    notebook.save()
    return lab.open_notebook(notebook.name)


@pytest.mark.journey
def test_two_pages_of_one_turn_agree_and_a_question_is_answered_once(lab: Lab) -> None:
    notebook = park(lab, "python3", CHECK)
    card(notebook)
    other = reopen_notebook(lab, notebook)
    card(other)

    card(notebook).get_by_role("button", name="Approve").click()

    other.wait_output(1, "gives paid 21")
    expect(other.output(1).get_by_role("button", name="Approve")).to_have_count(0)
    notebook.wait_output(1, "gives paid 21")
    notebook.run_cell(2)
    notebook.wait_output(2, "status: completed | [False] | ['ok']")
    assert notebook.errors == other.errors == []


def test_a_page_that_is_reloaded_in_mid_turn_shows_what_came_and_what_comes(lab: Lab) -> None:
    waiting = SETUP.replace('print("printed by pay")', "go.wait(240)")
    waiting = waiting.replace("threads = []", "threads, go = [], threading.Event()")
    notebook = park(lab, "python3", "go.set()", CHECK, setup=waiting)
    card(notebook).get_by_role("button", name="Approve").click()
    expect(notebook.output(1).locator(".nb-is-running")).to_be_visible()
    again = reopen_notebook(lab, notebook)
    notebook.close()
    expect(again.output(1).locator(".nb-is-running")).to_be_visible(timeout=30_000)

    again.run_cell(2)

    again.wait_output(1, "gives paid 21")
    again.run_cell(3)
    again.wait_output(3, "status: completed")
    assert again.errors == []
