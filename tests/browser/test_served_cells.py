"""The cells of a notebook as tools of a program outside, in real pages: shown below the cell that serves them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PANEL, PICTURED_THEMES, Front, Lab, Notebook, notebook_7_nightly, screenshot
from tests.browser.test_served import ADDRESS, call

LOAD, SERVE, SHOW, TARGET, BUSY, END, UNDO = range(7)
CELLS = (
    "%load_ext nbtool\nimport threading\nis_over = threading.Event()",
    "%chat serve -t nbtool:notebook",
    ADDRESS,
    "x = 1\ny = 2",
    "print('begun'); is_over.wait(240); print('over')",
    "is_over.set()",
    "%chat -c mcp:agent undo",
)


def serve_cells(
    lab: Lab, *, front: Front = "lab", kernel: str = "python3", tools: str = "nbtool:notebook"
) -> tuple[Notebook, str, str]:
    """Open a notebook that serves its cells, and return its address and token."""
    cells = [cell.replace("nbtool:notebook", tools) for cell in CELLS]
    notebook = lab.open_cells(*cells, kernel=kernel, name=f"served-cells-{front}.ipynb", front=front)
    for index in (LOAD, SERVE, SHOW):
        notebook.run_cell(index)
    _, url, token, _ = ("x " + notebook.wait_output(SHOW, "end").inner_text()).split()[:4]
    return notebook, url, token


def target_id(notebook: Notebook) -> str:
    return str(notebook.page.evaluate(f"at => {PANEL}.content.widgets[at].model.id", TARGET))


def edit(notebook: Notebook) -> dict[str, Any]:
    return {"cell": target_id(notebook), "old": "y = 2", "new": "y = 3"}


def button(notebook: Notebook, name: str = "Approve") -> Locator:
    return notebook.output(SERVE).get_by_role("button", name=name)


def approve(notebook: Notebook, text: str) -> None:
    expect(notebook.output(SERVE)).to_contain_text(text, timeout=30_000)
    expect(button(notebook).first).to_be_enabled(timeout=30_000)
    button(notebook).first.click()


@pytest.mark.sampled(1)
@notebook_7_nightly
@pytest.mark.promise("shown-cells")
def test_a_program_reads_and_edits_cells_after_clicks_and_undo_takes_it_back(
    lab: Lab, kernel: str, front: Front
) -> None:
    notebook, url, token = serve_cells(lab, front=front, kernel=kernel)

    listed = call(url, token, "list_cells", {})
    approve(notebook, "Run list_cells")
    outline = listed.result(240)[0].content[0].text
    assert f"{target_id(notebook)} code [ ]: x = 1" in outline.replace("[]", "[ ]")
    assert "the cell of this chat" in outline.splitlines()[SERVE]

    edited = call(url, token, "edit_cell", edit(notebook))
    expect(button(notebook).first).to_be_enabled(timeout=30_000)
    expect(notebook.output(SERVE).locator(".nb-removed", has_text="y = 2").first).to_be_visible()
    assert notebook.source(TARGET) == "x = 1\ny = 2"
    screenshot(notebook.page, f"served-cells-{front}")
    button(notebook).first.click()
    assert '"state": "edited"' in edited.result(240)[0].content[0].text
    assert notebook.source(TARGET) == "x = 1\ny = 3"

    notebook.run_cell(UNDO)
    assert notebook.source(TARGET) == "x = 1\ny = 2"
    assert not [error for error in notebook.errors if "nbtool" in error]


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_change_of_a_cell_is_shown_below_the_cell_that_serves(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook, url, token = serve_cells(lab)
    edited = call(url, token, "edit_cell", edit(notebook))
    expect(button(notebook).first).to_be_enabled(timeout=30_000)
    screenshot(notebook.page, f"served-cells-{theme}")

    button(notebook, "Deny").click()
    assert edited.result(240)[0].is_error
    assert notebook.source(TARGET) == "x = 1\ny = 2"
    screenshot(notebook.output(SERVE), f"served-cells-denied-{theme}")


@pytest.mark.promise("shown-cells")
def test_a_cell_that_is_edited_before_the_click_is_asked_about_again_while_another_cell_runs(lab: Lab) -> None:
    notebook, url, token = serve_cells(lab)
    notebook.start_cell(BUSY)
    notebook.wait_output(BUSY, "begun")
    edited = call(url, token, "edit_cell", edit(notebook))
    expect(button(notebook).first).to_be_enabled(timeout=30_000)

    notebook.write_cell(TARGET, "x = 1\ny = 2\ntyped = True")
    button(notebook).first.click()
    approve(notebook, "Asked again: it has changed since it was shown.")

    assert not edited.result(240)[0].is_error
    assert notebook.source(TARGET) == "x = 1\ny = 3\ntyped = True"
    assert notebook.is_running(BUSY)


def test_a_program_cannot_delete_the_cell_that_serves_even_with_an_approval(lab: Lab) -> None:
    notebook, url, token = serve_cells(lab)
    own = notebook.page.evaluate(f"at => {PANEL}.content.widgets[at].model.id", SERVE)

    calling = call(url, token, "delete_cell", {"cell": own})
    approve(notebook, "Run delete_cell")
    deleted = calling.result(240)[0]

    assert (deleted.is_error, "the cell of this chat" in deleted.content[0].text) == (True, True)
    assert notebook.source(SERVE) == CELLS[SERVE]


def test_after_a_reload_the_page_answers_once_serve_was_run_again(lab: Lab) -> None:
    notebook, url, token = serve_cells(lab)
    first = call(url, token, "list_cells", {})
    approve(notebook, "Run list_cells")
    assert not first.result(240)[0].is_error
    notebook.save()
    notebook.close()
    again = lab.open_notebook(notebook.name)

    lost = call(url, token, "list_cells", {}).result(240)[0]
    assert (lost.is_error, "Ask the user to run `%chat serve` again" in lost.content[0].text) == (True, True)

    again.write_cell(TARGET, "%chat serve")
    again.run_cell(TARGET)
    listed = call(url, token, "list_cells", {}).result(240)[0]
    assert "the cell of this chat" in listed.content[0].text.splitlines()[TARGET]


def test_a_program_runs_python_and_a_cell_on_the_main_thread_once_no_cell_runs(lab: Lab, kernel: str) -> None:
    notebook, url, token = serve_cells(lab, kernel=kernel, tools="nbtool:python nbtool:notebook")

    code = "import threading\nprint('on the way')\nthreading.current_thread() is threading.main_thread()"
    ran = call(url, token, "run_python", {"code": code})
    approve(notebook, "on the way")
    text = ran.result(240)[0].content[0].text
    assert ("on the way" in text, "Value:\nTrue" in text) == (True, True)

    cell = call(url, token, "run_cell", {"cell": target_id(notebook)})
    if kernel == "ipykernel6":  # its page cannot answer the thread that runs the cell
        approve(notebook, "Run run_cell")
        assert "Ask the user to run it" in cell.result(240)[0].content[0].text
        return
    approve(notebook, "Runs code cell")
    assert not cell.result(240)[0].is_error
    notebook.write_cell(UNDO, "print('y is', y)")
    notebook.run_cell(UNDO)
    notebook.wait_output(UNDO, "y is 2")


def test_a_program_that_gives_up_interrupts_what_it_runs_and_the_kernel_goes_on(lab: Lab) -> None:
    notebook, url, token = serve_cells(lab, tools="nbtool:python")

    code = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)"
    ran = call(url, token, "run_python", {"code": code}, seconds=6)
    approve(notebook, "begun")
    assert ran.exception(240) is not None

    notebook.write_cell(UNDO, "print('the kernel', 'goes on')")
    notebook.run_cell(UNDO)
    notebook.wait_output(UNDO, "the kernel goes on")
