"""A turn that goes on behind several pages, or behind one that is loaded anew: they agree, and a click counts once."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook
from tests.browser.test_parking import CHECK, card, park


def reopened(lab: Lab, notebook: Notebook) -> Notebook:
    """Open the notebook on another page, as it was saved now."""
    notebook.save()
    return lab.open_notebook(notebook.name)


def test_two_pages_of_one_turn_agree_and_a_question_is_answered_once(lab: Lab) -> None:
    notebook = park(lab, "python3", CHECK)
    card(notebook)
    other = reopened(lab, notebook)
    card(other)

    card(notebook).get_by_role("button", name="Approve").click()

    other.wait_output(1, "gives paid 21")
    expect(other.output(1).get_by_role("button", name="Approve")).to_have_count(0)
    notebook.wait_output(1, "gives paid 21")
    notebook.run_cell(2)
    notebook.wait_output(2, "status: completed | [False] | ['ok']")
    assert notebook.errors == other.errors == []


def test_a_page_that_is_loaded_anew_in_mid_stream_shows_what_came_and_what_comes(lab: Lab) -> None:
    notebook = park(lab, "python3", CHECK)
    notebook.write_cell(1, "%%chat -m practice:default --approve park -o answer\nUse &`pay` with 21.")
    card(notebook).get_by_role("button", name="Deny").click()
    notebook.wait_output(1, "This turn outlived its cell")
    notebook.run_cell(1)
    card(notebook).get_by_role("button", name="Approve").click()
    expect(notebook.output(1).locator(".nb-is-ok")).to_be_visible()
    again = reopened(lab, notebook)
    notebook.close()

    again.wait_output(1, "gives paid 21")
    again.run_cell(2)
    again.wait_output(2, "status: completed")
    assert again.errors == []
