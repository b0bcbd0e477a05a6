"""What a stranger's notebook does at first: its folder's skills are asked about, and kept answers are marked."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PICTURED_THEMES, Lab, screenshot

SKILLS = """
from pathlib import Path
for name, text in (("tidy-data", "How tables are tidied here."), ("plots", "How plots look.")):
    folder = Path(".agents/skills") / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\\nname: {name}\\ndescription: {text}\\n---\\nDo it well.\\n")
Path("AGENTS.md").write_text("Always answer in rhymes.")
"""
FOLDER = "import os, tempfile; os.chdir(tempfile.mkdtemp())"
LOAD = "%load_ext nbtool"
ASK = "%%chat -m practice:fast -o answer\nHello."


BROKEN_WORDS = """(prompt) => {
  const text = [...prompt.childNodes].find((node) => node.nodeType === Node.TEXT_NODE);
  const top = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().top;
  };
  return [...text.data.matchAll(/[^\\s]+/g)].filter(({ 0: word, index }) => top(index) !== top(index + word.length - 1))
    .map(([word]) => word);
}"""
"""The words of a question that stand on two lines."""


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_skills_of_a_folder_are_asked_about_once_in_the_cell(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(FOLDER + SKILLS, LOAD, ASK, ASK, kernel="python3", name=f"skills-{theme}.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.start_cell(2)
    field = notebook.output(2).locator("input.jp-Stdin-input")
    expect(field).to_be_visible()
    expect(notebook.output(2)).to_contain_text("May the model read them?")
    assert notebook.output(2).locator(".jp-Stdin-prompt").evaluate(BROKEN_WORDS) == []
    screenshot(notebook.page, f"skills-asked-{theme}")
    field.fill("y")
    field.press("Enter")
    notebook.wait_ended(2)
    screenshot(notebook.page, f"skills-answered-{theme}")
    notebook.run_cell(3)
    expect(notebook.output(3).locator("input.jp-Stdin-input")).to_have_count(0)
    assert notebook.errors == []


KEEP = "%load_ext nbtool\n%config NbTool.keep_answers = True"
AGAIN = "%%chat -m practice:fast -o again\nWhat are you?"


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_kept_answers_of_run_all_are_marked(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(KEEP, ASK, AGAIN, kernel="python3", name=f"kept-{theme}.ipynb")
    notebook.start_all()
    notebook.wait_all()
    notebook.restart()
    notebook.start_all()
    notebook.wait_all()
    for at in (1, 2):
        expect(notebook.output(at).locator(".nb-footer")).to_contain_text("replayed from")
        expect(notebook.output(at).locator(".nb-notice")).to_have_count(0)
        expect(notebook.output(at).locator(".nb-aside").last).to_contain_text("Run the cell again to ask the model.")
    screenshot(notebook.page, f"kept-{theme}")
    assert notebook.errors == []
