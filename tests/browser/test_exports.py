"""What `%chat export` writes, as JupyterLab shows it: a document with its figures, and a notebook with outputs."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PANEL, Lab, Notebook, screenshot
from tests.browser.test_chat import chat

PLOT = """
import pandas as pd
from matplotlib.figure import Figure

birds = pd.DataFrame({"species": ["Gentoo", "Adelie"], "mass": [5076.0, 3700.7]})

@tool(run="auto")
def plot_masses() -> Figure:
    "Plot the masses."
    figure = Figure(figsize=(3, 2))
    figure.subplots().bar(birds.species, birds.mass)
    return figure

@tool(run="auto")
def masses() -> pd.DataFrame:
    "The masses."
    return birds
"""
ASK = "%%chat -m practice:fast\nUse &`plot_masses` and &`masses`."
OPEN = "(args) => window.jupyterapp.commands.execute('docmanager:open', args)"
LOADED = "images => images.length > 0 && images.every((image) => image.complete && image.naturalWidth > 100)"


def export(lab: Lab, kind: str) -> tuple[Notebook, str]:
    """Run a turn with a figure and a table, export its chat, and return the notebook and the name of the file."""
    notebook = chat(lab, "python3", PLOT, ASK, f"%chat export {kind}")
    for index in (1, 2, 3):
        notebook.run_cell(index)
    name = f"scratch-chat.{kind}"
    notebook.wait_output(3, f"Written: {name}")
    return notebook, name


@pytest.mark.journey
def test_an_exported_document_is_named_after_the_notebook_and_renders_with_its_figures(lab: Lab) -> None:
    notebook, name = export(lab, "md")
    notebook.page.evaluate(OPEN, {"path": name, "factory": "Markdown Preview"})
    document = notebook.page.locator(".jp-MarkdownViewer .jp-RenderedMarkdown")

    expect(document.get_by_role("heading", name="Totals of these turns")).to_be_visible()
    expect(document).to_contain_text("Use &`plot_masses` and &`masses`.")
    document.locator("summary", has_text="masses() · ").last.click()
    expect(document.get_by_role("cell", name="Gentoo")).to_be_visible()
    expect(document.get_by_role("cell", name="5076.0")).to_be_visible()
    expect_loaded(document.get_by_role("img"))
    assert "```markdown" not in document.inner_text()
    screenshot(document, "export-document")
    assert notebook.errors == []


def test_an_exported_notebook_has_the_outputs_and_figures_of_its_turns(lab: Lab) -> None:
    notebook, name = export(lab, "ipynb")
    notebook.page.evaluate(OPEN, {"path": name})
    notebook.page.wait_for_function(f"name => {PANEL}?.context?.path === name", arg=name)
    opened = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    expect(opened.locator(".jp-OutputArea")).not_to_have_count(0)
    expect_loaded(opened.locator(".jp-OutputArea img"))
    opened.locator(".nb-call").last.locator("summary").first.click()
    expect(opened.get_by_role("region", name="Result")).to_contain_text("5076.0")
    screenshot(opened, "export-notebook")
    assert notebook.errors == []


def expect_loaded(images: Locator) -> None:
    """Wait until images are there, and loaded."""
    expect(images.first).to_be_visible()
    assert images.evaluate_all(
        "async images => { await Promise.all(images.map((image) => image.decode())); return images.length; }"
    )
    assert images.evaluate_all(LOADED)
