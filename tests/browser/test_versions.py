"""The versions of a turn in a live notebook: the arrows show them in place, and the notebook saves what is shown."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import PICTURED_THEMES, Front, Lab, Notebook, screenshot

LOAD = """%load_ext nbtool
from nbtool import tool
@tool(run='auto')
def price(ticker: str) -> str:
    "Price of a ticker."
    return ticker * 2"""
ASK = "%%chat -t price -m practice:fast -o answer\nUse &`price` for NVDA."
EDITED = "%%chat -t price -m practice:fast -o answer\nUse &`price` for AMD."
FOLLOW_UP = "%%chat -m practice:fast -o next_answer\nAnd now?"
CHECK = "print([m.text[:30] for m in next_answer.messages.context if m.role == 'user'])"
TURN = 1


def two_versions(lab: Lab, name: str, front: Front = "lab") -> tuple[Notebook, Locator]:
    """Run a cell, and again with another prompt."""
    notebook = lab.open_cells(LOAD, ASK, FOLLOW_UP, CHECK, kernel="python3", name=name, front=front)
    notebook.run_cell(0)
    notebook.run_cell(TURN)
    expect(notebook.output(TURN)).to_contain_text("NVDANVDA")
    notebook.write_cell(TURN, EDITED)
    notebook.run_cell(TURN)
    expect(notebook.output(TURN)).to_contain_text("AMDAMD")
    return notebook, notebook.output(TURN)


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_an_arrow_shows_the_other_version_in_the_same_place_and_the_notebook_saves_it(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook, turn = two_versions(lab, f"in-place-{theme}.ipynb")
    cells = notebook.cell_count()
    expect(turn.locator(".nb-versions")).to_contain_text("2/2")

    turn.get_by_role("button", name="Previous version").focus()
    notebook.page.keyboard.press("Enter")
    expect(turn.locator(".nb-versions")).to_contain_text("1/2")
    expect(turn).to_contain_text("NVDANVDA")
    expect(turn).not_to_contain_text("AMDAMD")
    expect(turn.get_by_role("status").filter(has_text="Switched to version 1 of 2.")).to_be_in_viewport()
    screenshot(turn, f"versions-{theme}")
    (saved,) = (one.data for one in notebook.save().cells[TURN].outputs if TURN_MIME in one.get("data", {}))
    assert "NVDANVDA" in saved["text/plain"]
    assert saved[TURN_MIME]["head"]["version"] == 1

    expect(notebook.page.locator("#nbtool-announcements")).to_have_text("Version 1 of 2.")
    previous = turn.get_by_role("button", name="Previous version")
    expect(previous).to_be_focused()
    expect(previous).to_be_disabled()
    notebook.page.keyboard.press("Enter")  # there is no other version before this one
    turn.get_by_role("button", name="Next version").focus()
    notebook.page.keyboard.press("Enter")
    expect(turn).to_contain_text("AMDAMD")
    expect(turn.locator(".nb-versions")).to_contain_text("2/2")
    expect(notebook.page.locator("#nbtool-announcements")).to_have_text("Version 2 of 2.")
    previous.click()
    expect(turn.locator(".nb-versions")).to_contain_text("1/2")
    assert notebook.cell_count() == cells
    notebook.run_cell(2)
    notebook.run_cell(3)
    notebook.wait_output(3, "['Use &`price` for NVDA.', 'And now?']")
    assert notebook.errors == []


LONG = "%%chat -m practice:fast -o answer\n" + "A long prompt that the reply repeats. " * 60
TOP = "el => el.getBoundingClientRect().top"
LEFT = "el => el.getBoundingClientRect().left"


def test_an_arrow_stays_where_it_is_however_long_the_other_version_is(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, LONG, *["1"] * 9, kernel="python3", name="arrow-place.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(TURN)
    notebook.write_cell(TURN, EDITED)
    notebook.run_cell(TURN)
    turn = notebook.output(TURN)
    expect(turn).to_contain_text("AMDAMD")
    for name, shown in (("Previous version", "1/2"), ("Next version", "2/2"), ("Previous version", "1/2")):
        arrow = turn.get_by_role("button", name=name)
        arrow.scroll_into_view_if_needed()
        before = [arrow.evaluate(where) for where in (TOP, LEFT)]
        arrow.click()
        expect(turn.locator(".nb-versions")).to_contain_text(shown)
        expect(arrow).to_be_focused()
        assert [arrow.evaluate(where) for where in (TOP, LEFT)] == pytest.approx(before, abs=2)
    assert notebook.errors == []


def test_a_version_that_was_deleted_is_refused_and_the_view_stays(lab: Lab) -> None:
    notebook, turn = two_versions(lab, "deleted.ipynb")
    first = notebook.save().cells[TURN].outputs[-1].data[TURN_MIME]["head"]["turns"][0]
    notebook.write_cell(3, f"import nbtool; nbtool.chats()['main'].delete('{first}')")
    notebook.run_cell(3)

    turn.get_by_role("button", name="Previous version").click()

    expect(turn.get_by_role("status")).to_contain_text("This version of the turn was deleted. %chat undo restores")
    expect(turn).to_contain_text("AMDAMD")


def test_notebook_7_shows_the_other_version_in_the_same_place_too(lab: Lab) -> None:
    _, turn = two_versions(lab, "in-place-7.ipynb", "notebook")

    turn.get_by_role("button", name="Previous version").click()

    expect(turn.locator(".nb-versions")).to_contain_text("1/2")
    expect(turn).to_contain_text("NVDANVDA")
    expect(turn.get_by_role("status").filter(has_text="Switched to version 1 of 2.")).to_be_in_viewport()


def test_the_first_cell_shows_a_version_that_another_cell_added(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, "%%chat --rerun 1\n", CHECK, kernel="python3", name="elsewhere.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(TURN)
    turn = notebook.output(TURN)
    expect(turn).to_contain_text("NVDANVDA")
    expect(turn.locator(".nb-versions")).to_have_count(0)

    notebook.run_cell(2)
    expect(notebook.output(2).get_by_role("img", name="Version 2 of 2")).to_be_visible()
    expect(turn.get_by_role("img", name="Version 1 of 2")).to_be_visible()
    expect(turn).to_contain_text("NVDANVDA")
    turn.get_by_role("button", name="Next version").click()
    expect(turn.get_by_role("status").filter(has_text="Switched to version 2 of 2.")).to_be_visible()
    assert notebook.errors == []


def test_an_arrow_that_is_pressed_while_a_cell_runs_is_followed_when_that_has_ended(lab: Lab) -> None:
    notebook, turn = two_versions(lab, "busy.ipynb")
    notebook.write_cell(2, "import time\nend = time.time() + 60\nwhile time.time() < end: time.sleep(0.1)")
    notebook.start_cell(2)

    turn.get_by_role("button", name="Previous version").click()
    expect(turn.get_by_role("status").filter(has_text="Waiting for the kernel…")).to_be_visible()
    notebook.interrupt()
    notebook.wait_ended(2)

    expect(turn.get_by_role("status").filter(has_text="Switched to version 1 of 2.")).to_be_visible()
    expect(turn.locator(".nb-versions")).to_contain_text("1/2")
