"""The first notebook of the manual, as a newcomer goes through it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook

pytestmark = pytest.mark.new_page

MANUAL = Path(__file__).parents[2] / "notebooks"
LOAD, DATA, TOOLS, ASK, READ, AGAIN, STATUS = 1, 3, 5, 7, 9, 11, 13
SEEN = "print('SEEN', [c.status for c in answer.calls], str(answer.calls[2].resolved['df']))"


def open_notebook(lab: Lab, kernel: str) -> Notebook:
    shutil.copytree(MANUAL / "data", lab.server.root / "data", dirs_exist_ok=True)
    notebook = lab.open_notebook(lab.server.copy_notebook(MANUAL / "01_first_chat.ipynb", kernel=kernel))
    for cell in (LOAD, DATA, TOOLS):
        notebook.run_cell(cell)
    return notebook


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kernel", "comms"),
    [
        ("python3", "perCommTarget"),
        ("python3", "disabled"),
        # it has no subshells, and the next test takes its way of the normal lane
        pytest.param("ipykernel6", "perCommTarget", marks=pytest.mark.nightly),
        pytest.param("ipykernel6", "disabled", marks=pytest.mark.nightly),
    ],
    indirect=["kernel"],
)
def test_a_newcomer_goes_through_the_first_notebook(lab: Lab, kernel: str, comms: str) -> None:
    lab.set_comms_over_subshells(comms)  # type: ignore[arg-type]  # two of its three words
    notebook = open_notebook(lab, kernel)
    notebook.wait_output(LOAD, "nbtool: practice:")
    notebook.write_cell(ASK, notebook.source(ASK).replace("%%chat", "%%chat -m practice:default"))

    notebook.start_cell(ASK)
    view = notebook.output(ASK)
    expect(view.locator(".nb-thinking")).to_have_count(1, timeout=30_000)
    expect(view.locator(".nb-thinking[open]")).to_have_count(0)
    expect(view.locator(".nb-item")).to_have_count(1)  # the call that waits is on the card, the others in the log
    expect(view.locator(".nb-call")).to_have_count(2)
    approve = view.get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    assert notebook.is_running(ASK)
    approve.click()
    reply = view.locator(".nb-reply").last
    expect(reply).not_to_be_empty()
    early = reply.inner_text()
    notebook.wait_ended(ASK)

    notebook.wait_output(ASK, "6300")
    assert len(early) < len(notebook.output(ASK).inner_text())
    notebook.write_cell(READ, SEEN)
    notebook.run_cell(READ)
    notebook.wait_output(READ, "SEEN ['ok', 'ok', 'ok'] $VAR_REF{{penguins}}: DataFrame, 344 rows")
    notebook.run_cell(AGAIN)
    notebook.wait_output(AGAIN, "68")
    notebook.run_cell(STATUS)
    notebook.wait_output(STATUS, "2 on the active line")
    assert notebook.errors == []


RICH = """() => Object.getOwnPropertySymbols(globalThis)
  .some((one) => one.description?.startsWith("nbtool.rich.") && globalThis[one].module !== null)"""


def test_the_second_module_comes_while_the_cell_runs(lab: Lab, kernel: str) -> None:
    notebook = open_notebook(lab, kernel)
    notebook.write_cell(ASK, notebook.source(ASK).replace("%%chat", "%%chat -m practice:default"))

    notebook.start_cell(ASK)
    view = notebook.output(ASK)
    expect(view.get_by_role("button", name="Approve")).to_be_enabled(timeout=30_000)
    view.page.wait_for_function(RICH, timeout=10_000)

    assert notebook.is_running(ASK)
    view.get_by_role("button", name="Approve").click()
    notebook.wait_ended(ASK)
    assert notebook.errors == []
