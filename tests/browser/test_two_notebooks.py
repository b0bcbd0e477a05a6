"""Two notebooks on one kernel, of which one is a copy of the other: their cells have the same ids."""

from __future__ import annotations

import shutil

import pytest

from tests.browser.lab import PANEL, Lab, Notebook

SETUP = "%load_ext nbtool\n%config NbTool.model = 'practice:fast'"
PROMPT = "%%chat\nHello"
COUNT = (
    "from IPython.utils.capture import capture_output\n"
    "with capture_output() as printed: get_ipython().run_line_magic('chat', 'history')\n"
    "print('turns:', printed.stdout.count('completed'), '| versions:', printed.stdout.count('version 2 of 2'))"
)
KERNEL_ID = f"() => {PANEL}.sessionContext.session.kernel.id"
USE_KERNEL = f"id => {PANEL}.sessionContext.changeKernel({{ id }})"

pytestmark = pytest.mark.new_page


def open_copy(lab: Lab, notebook: Notebook) -> Notebook:
    """Copy the file of a notebook, and open the copy on the same kernel."""
    notebook.save()
    shutil.copy(lab.server.root / notebook.name, lab.server.root / "copy.ipynb")
    kernel = notebook.page.evaluate(KERNEL_ID)
    copy = lab.open_notebook("copy.ipynb")
    copy.page.evaluate(USE_KERNEL, kernel)
    copy.wait_status("idle")
    return copy


def test_the_turns_of_a_copy_on_the_same_kernel_are_turns_and_run_again_they_are_versions(lab: Lab) -> None:
    notebook = lab.open_cells(SETUP, PROMPT, COUNT, kernel="python3", name="original.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1)
    copy = open_copy(lab, notebook)

    copy.run_cell(1)
    copy.run_cell(2)
    copy.wait_output(2, "turns: 2 | versions: 0")
    notebook.reload()  # another session of the same notebook
    notebook.run_cell(1)
    notebook.run_cell(2)

    notebook.wait_output(2, "turns: 2 | versions: 1")
    assert notebook.errors == copy.errors == []
