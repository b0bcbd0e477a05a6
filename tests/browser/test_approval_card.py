"""The approval card in a real page: several questions on it, decided one by one and together, edited, redacted."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from nbtool.tools.calls.result import EDITED_NOTICE
from tests.browser.lab import Lab, Notebook, screenshot

SETUP = """
%load_ext nbtool
from typing import Annotated
import pandas as pd
from pydantic import Field
from nbtool import tool

df = pd.DataFrame({"ticker": ["AAA", "BBB"], "close": [10.5, 7.25]})
ran = []

@tool
def price(ticker: str) -> float:
    "Latest close of a ticker, in USD."
    ran.append(ticker)
    return 4.2

@tool
def order(ticker: str, n: Annotated[int, Field(ge=1, le=100)]) -> str:
    "Order some shares."
    ran.append(n)
    return f"ordered {n}"

@tool(run="auto", result="always")
def owner(ticker: str) -> str:
    "Who owns a ticker."
    return "owner: jane@example.com, backup: jane@example.com"

@tool(sensitive=True)
def save(rows: pd.DataFrame, path: str) -> str:
    "Save a table as a file."
    return "saved"
"""
THREE = '%%chat -m practice:fast -o answer\nUse &`price` for "AAA", "BBB" and "CCC".'
ORDER = '%%chat -m practice:fast -o answer\nUse &`order` for "AAA", n=3.'
OWNER = '%%chat -m practice:fast -o answer\nUse &`owner` for "AAA".'
SAVE = '%%chat -m practice:fast -o answer\nUse &`save` on $`df` with path="out.csv" and &`order` for "AAA", n=3.'
RAN = "print(ran, [c.status for c in answer.calls], [c.shown for c in answer.calls])"
SELECT = """pre => {
    const range = document.createRange();
    range.setStart(pre.firstChild, 7);
    range.setEnd(pre.firstChild, 23);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""

MOVE_UNDER_POINTER = """el => {
    const question = document.querySelector(".nb-card .nb-card-summary").getBoundingClientRect();
    const own = el.getBoundingClientRect();
    const left = question.x + question.width / 2 - own.x - own.width / 2;
    const top = question.y + question.height / 2 - own.y - own.height / 2;
    el.style.cssText = `position: relative; z-index: 9; left: ${left}px; top: ${top}px`;
}"""


def chat(lab: Lab, *cells: str) -> Notebook:
    notebook = lab.open_cells(SETUP, *cells, kernel="python3")
    notebook.run_cell(0)
    notebook.wait_output(0, "nbtool: ")
    return notebook


def card(notebook: Notebook, index: int) -> Locator:
    """Start a cell and wait for the card under it, with all that the second module brings."""
    notebook.start_cell(index)
    found = notebook.output(index).get_by_role("group", name="Approval")
    expect(found.locator(".nb-item").first).to_be_visible(timeout=30_000)
    refuse = found.locator(".nb-item").first.get_by_role("button", name=re.compile("^(Deny|Withhold)$"))
    expect(refuse).to_be_enabled()
    return found


def press(where: Locator, name: str) -> None:
    where.get_by_role("button", name=name, exact=True).first.click()


@pytest.mark.journey
def test_calls_of_a_round_are_decided_on_one_card_singly_and_together(lab: Lab) -> None:
    notebook = chat(lab, THREE, RAN)

    asked = card(notebook, 1)
    expect(asked.locator(".nb-item")).to_have_count(3)
    expect(asked).to_contain_text('Run price(ticker="AAA")?')
    expect(asked.get_by_role("button", name="Approve all 3")).to_be_in_viewport()
    expect(notebook.page).to_have_title(re.compile(r"^\(3\) "))
    notebook.page.keyboard.press("Enter")
    notebook.page.keyboard.press("y")
    expect(asked.locator(".nb-item")).to_have_count(3)
    press(asked, "Deny")
    expect(asked.locator(".nb-item")).to_have_count(2)
    asked.locator(".nb-item").last.scroll_into_view_if_needed()
    press(asked, "Approve all 2")
    notebook.wait_ended(1)

    notebook.run_cell(2)
    notebook.wait_output(2, "['BBB', 'CCC'] ['denied', 'ok', 'ok']")
    assert notebook.errors == []


@pytest.mark.journey
def test_a_second_click_at_the_same_place_does_not_approve_the_other_calls(lab: Lab) -> None:
    notebook = chat(lab, THREE)
    asked = card(notebook, 1)
    press(asked, "Deny")
    expect(asked.locator(".nb-item")).to_have_count(2)
    together = asked.get_by_role("button", name="Approve all 2")
    expect(together).to_be_enabled()

    asked.locator(".nb-card-summary").first.click()
    together.evaluate(MOVE_UNDER_POINTER)
    notebook.page.mouse.down()
    notebook.page.mouse.up()

    expect(asked).to_contain_text("You clicked a question at this place")
    expect(asked.locator(".nb-item")).to_have_count(2)
    press(asked, "Deny all 2")
    notebook.wait_ended(1)
    assert notebook.errors == []


@pytest.mark.journey
def test_an_edit_is_checked_before_it_can_be_approved_and_a_result_is_redacted_by_selection(lab: Lab) -> None:
    notebook = chat(lab, ORDER, RAN, OWNER, RAN)

    asked = card(notebook, 1)
    press(asked, "Edit")
    asked.get_by_role("textbox", name="n integer").fill("500")
    expect(asked).to_contain_text("500 is greater than 100.")
    expect(asked.get_by_role("button", name="Approve as edited")).to_be_disabled()
    asked.get_by_role("textbox", name="n integer").fill("7")
    expect(asked.locator(".nb-changes")).to_contain_text("7")
    notebook.page.keyboard.press("Control+Enter")
    notebook.wait_ended(1)
    notebook.run_cell(2)
    notebook.wait_output(2, f"[7] ['ok'] ['{EDITED_NOTICE}\\nordered 7']")

    asked = card(notebook, 3)
    asked.locator(".nb-item pre").first.evaluate(SELECT)
    press(asked, "Redact the selection")
    expect(asked).to_contain_text("Redacted in 2 places.")
    press(asked, "Release as edited")
    notebook.wait_ended(3)
    notebook.run_cell(4)
    notebook.wait_output(4, "owner: [redacted], backup: [redacted]")
    assert "jane" not in notebook.output(3).inner_text()
    assert notebook.errors == []


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_state_of_the_card_can_be_seen(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = chat(lab, THREE, SAVE, OWNER)

    asked = card(notebook, 1)
    screenshot(asked, f"card-three-{theme}")
    asked.locator(".nb-item").last.scroll_into_view_if_needed()
    press(asked, "Approve all 3")
    notebook.wait_ended(1)
    asked = card(notebook, 2)
    item = asked.locator(".nb-item").last
    item.get_by_role("button", name="Edit…").click()
    asked.get_by_role("textbox", name="n integer").fill("500")
    screenshot(asked, f"card-edit-{theme}")
    asked.locator(".nb-item").first.get_by_role("button", name="Deny", exact=True).click()
    expect(asked.locator(".nb-item")).to_have_count(1)
    press(asked, "Undo the edit")
    remember = asked.get_by_label("Remember the decision")
    remember.select_option("tool")
    expect(asked.get_by_role("alert")).to_contain_text("This covers every later call")
    screenshot(asked, f"card-remember-{theme}")
    remember.select_option("")
    press(asked, "Approve")
    notebook.wait_ended(2)
    asked = card(notebook, 3)
    asked.locator(".nb-item pre").first.evaluate(SELECT)
    press(asked, "Redact the selection")
    screenshot(asked, f"card-redact-{theme}")
    press(asked, "Withhold")
    notebook.wait_ended(3)
    assert notebook.errors == []
