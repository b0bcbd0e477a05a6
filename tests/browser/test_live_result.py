"""A result of a live turn is added to the notebook, whatever stage its turn is in."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab

LOAD = """%load_ext nbtool
from nbtool import tool
@tool(run="auto")
def price(ticker: str) -> float:
    "Price of a ticker."
    return 98.7"""
ASK = "%%chat -t price -m practice:fast -o answer\nUse &`price` for NVDA."


@pytest.mark.feature("use a result in the notebook")
def test_a_result_is_added_after_its_turn_has_ended(lab: Lab) -> None:
    notebook = lab.open_cells(LOAD, ASK, kernel="python3", name="live.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1).get_by_role("button", name="Add to notebook").click()

    assert notebook.source(2).startswith("%chat bind price_1_result --turn turn_")
    expect(notebook.run_cell(2)).to_contain_text("Bound price_1_result in the notebook.")
