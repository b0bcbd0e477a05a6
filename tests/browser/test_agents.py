"""Claude Code itself answers in a cell of JupyterLab, with a double of its model: card, approval, result, own tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook, screenshot
from tests.wire.agents.claude_model import ClaudeModel, serve_model
from tests.wire.agents.claude_program import INSTALLED, environment, write_settings

SETUP = """
%load_ext nbtool
import os
import pandas as pd
os.environ.update({variables})

penguins = pd.DataFrame({{"species": ["Adelie", "Gentoo"], "grams": [3700.25, 5076.75]}})
seen = []

def by_mass(table: pd.DataFrame) -> pd.DataFrame:
    "Sort a table by mass, the heaviest first."
    seen.append(table is penguins)
    return table.sort_values("grams", ascending=False)
"""
ASK = "%%chat -m acp:claude -t by_mass -v penguins\nWhich species is the heaviest?"
AGAIN = "%%chat\nAnd the lightest?"
LOOK = "%chat bind by_mass_1_result heaviest\nprint(seen, heaviest.species.iloc[0])\n%chat status"
CALL = ("mcp__notebook__by_mass", {"table": "$VAR_REF{{penguins}}"})
REPLY = "**Gentoo** is the heaviest."
SECONDS = 90
"""Claude Code starts in seconds, on two busy cores in tens of them."""

pytestmark = pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=acp-agents` installs it.")


@pytest.fixture
def model() -> Iterator[ClaudeModel]:
    """Give the model of the agent."""
    with serve_model() as model:
        yield model


@pytest.fixture
def setup(lab: Lab, model: ClaudeModel, tmp_path: Path) -> Iterator[str]:
    """Give the cell that lets a kernel start the agent; afterwards no other kernel finds it."""
    folder = lab.server.home / "nbtool"
    folder.mkdir(exist_ok=True)
    settings = write_settings(folder)
    yield SETUP.format(variables=environment(tmp_path, model.url))
    settings.unlink()


def opened(lab: Lab, setup: str, name: str, *cells: str) -> Notebook:
    """Open a notebook and ask the agent."""
    notebook = lab.open_cells(setup, ASK, *cells, kernel="python3", name=f"{name}.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    return notebook


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 760)])
def test_an_agent_answers_with_a_tool_of_the_notebook_that_a_person_approves(
    lab: Lab, model: ClaudeModel, setup: str, theme: Literal["light", "dark"], width: int
) -> None:
    lab.set_theme(theme)
    model.say([CALL], REPLY, "Adelie is the lightest.")
    notebook = opened(lab, setup, f"agent-{theme}", AGAIN, LOOK)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    turn = notebook.wait_output(1, "Run by_mass(table=penguins)?", seconds=SECONDS)
    approve = turn.get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    screenshot(turn, f"agent-card-{theme}")
    approve.click()
    notebook.wait_ended(1, seconds=SECONDS)

    expect(turn.get_by_text("Gentoo", exact=True).first).to_be_visible()
    screenshot(turn, f"agent-answer-{theme}")
    notebook.run_cell(2, seconds=SECONDS)
    expect(notebook.output(2)).to_contain_text("Adelie is the lightest.")
    screenshot(notebook.output(2), f"agent-second-{theme}")
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text("[True] Gentoo")
    expect(notebook.output(3)).to_contain_text(re.compile(r"acp:claude +3 requests"))
    screenshot(notebook.output(3), f"agent-status-{theme}")
    assert model.offered() == {CALL[0], "mcp__notebook__ListVars", "mcp__notebook__ReadVar"}
    assert "5076.75" not in str([request["messages"][:1] for request in model.requests])
    assert notebook.errors == []


def test_a_shell_command_of_an_agent_runs_nothing_and_the_cell_says_what_it_was(
    lab: Lab, model: ClaudeModel, setup: str, tmp_path: Path
) -> None:
    target = tmp_path / "made"
    model.say([("Bash", {"command": f"touch {target}", "description": "Make a file"})], "Made.")
    notebook = opened(lab, setup, "agent-shell")
    notebook.wait_ended(1, seconds=SECONDS)

    expect(notebook.output(1)).to_contain_text("Claude Code used a tool of its own (Bash: ")
    expect(notebook.output(1)).not_to_contain_text("Run by the provider")
    screenshot(notebook.output(1), "agent-shell")
    assert not target.exists()


def test_a_stop_while_the_card_of_an_agent_is_open_ends_the_turn_and_the_next_prompt_is_answered(
    lab: Lab, model: ClaudeModel, setup: str
) -> None:
    model.say([CALL])
    notebook = opened(lab, setup, "agent-stop", AGAIN)
    turn = notebook.wait_output(1, "Run by_mass(table=penguins)?", seconds=SECONDS)
    turn.get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_ended(1)
    expect(turn.get_by_role("button", name="Approve")).to_have_count(0)
    screenshot(turn, "agent-stopped")

    model.steps.clear()
    model.say("Adelie is the lightest.")
    notebook.run_cell(2, seconds=SECONDS)
    expect(notebook.output(2)).to_contain_text("Adelie is the lightest.")
    screenshot(notebook.output(2), "agent-after-stop")
