"""A result that is passed by reference: the person sees it as any other, the model and the file do not."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PICTURED_THEMES, Lab, screenshot

LOAD = """%load_ext nbtool
import pandas as pd
from nbtool import tool
@tool(run='auto', result='reference')
def patients() -> pd.DataFrame:
    "All patients."
    return pd.DataFrame({'patient': ['Hopper', 'Lovelace'], 'age': [85, 36]})"""
ASK = "%%chat -t patients -m practice:fast -o answer\nUse &`patients`."
SENT = "print('Hopper' in ''.join(map(str, answer.messages.context)) + answer.text)"


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_result_by_reference_is_shown_while_its_kernel_runs_and_never_saved(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(LOAD, ASK, SENT, kernel="python3", name=f"reference-{theme}.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1)
    output = notebook.output(1)

    shown = output.locator(".nb-result")
    expect(shown.get_by_role("cell", name="Lovelace")).to_be_visible()
    expect(shown).to_contain_text("Shown to you only")
    screenshot(output, f"reference-result-{theme}")
    notebook.run_cell(2)
    notebook.wait_output(2, "False")
    assert "Hopper" not in json.dumps(notebook.save().cells[1].outputs)

    notebook.reload()
    expect(shown.get_by_role("cell", name="Lovelace")).to_be_visible()
    notebook.restart()
    notebook.reload()
    expect(output.locator(".nb-saved")).to_be_visible()
    expect(output).not_to_contain_text("Lovelace")
    assert notebook.errors == []
