"""A map of many prompts in JupyterLab: its bar moves, it is stopped while its cell runs, and its saved form stays."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, older_kernel_nightly, screenshot

SETUP = """
%load_ext nbtool
from nbtool import Chat
chat = Chat("practice:default")
"""
MAP = "batch = chat.map([f'Say {n} in two sentences.' for n in range(5_000)], concurrency=4, resume=False)"
CHECK = """
kept = [one for one in batch.answers if not one.error]
print(len(batch.answers), "answers,", len(kept) > 3, all(one.value for one in kept), type(batch.stop_reason).__name__)
"""
VALUE_TEXT = re.compile(r"^\d+ of 5,000 prompts, about .+ left$")
SAVED = re.compile(r"[\d,]+ of 5,000 prompts · ⊘ [\d,]+ not answered\nStopped .*\n[\d,]+ tokens")


def bar_of(notebook: Notebook, index: int) -> Locator:
    """Give the bar of a map under a cell."""
    return notebook.output(index).get_by_role("progressbar")


def wait_done(notebook: Notebook, index: int, more_than: int) -> int:
    """Wait until more prompts are done, and give their number."""
    bar = bar_of(notebook, index)
    bar.wait_for(state="attached")
    notebook.page.wait_for_function(
        "([bar, least]) => Number(bar.ariaValueNow) > least", arg=[bar.element_handle(), more_than]
    )
    return int(bar.get_attribute("aria-valuenow") or 0)


def press_stop(notebook: Notebook, index: int) -> None:
    """Press Stop by its key, as it is reached without a mouse."""
    stop = notebook.output(index).get_by_role("button", name="Stop")
    stop.focus()
    notebook.page.keyboard.press("Enter")


@pytest.mark.journey
@older_kernel_nightly
@pytest.mark.feature("run one prompt over a table, with a progress bar and a *Stop* button")
def test_the_bar_moves_and_stop_works_while_the_cell_runs_and_what_came_is_kept(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells(SETUP, MAP, CHECK, kernel=kernel, name="map.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    first = wait_done(notebook, 1, 0)
    wait_done(notebook, 1, first + 3)
    expect(notebook.output(1)).to_contain_text("prompts a minute")
    expect(bar_of(notebook, 1)).to_have_attribute("aria-valuetext", VALUE_TEXT)
    assert notebook.is_running(1)
    assert notebook.status() == "busy"

    press_stop(notebook, 1)
    notebook.wait_ended(1)

    output = notebook.output(1)
    expect(output).to_contain_text("Stopped before it was finished; the finished answers are kept.")
    expect(output).to_contain_text(re.compile(r"[\d,]+ prompts were not sent, or not finished: map again to go on\."))
    expect(bar_of(notebook, 1)).to_have_count(0)
    expect(notebook.run_cell(2)).to_contain_text("5000 answers, True True Cancelled")
    (saved,) = [one for one in notebook.save().cells[1].outputs if one.output_type == "display_data"]
    assert set(saved.data) == {"text/html", "text/plain"}
    assert SAVED.match(saved.data["text/plain"])
    assert "<script" not in saved.data["text/html"]
    assert notebook.errors == []


MESSAGE = "The answer was <img src=x onerror=document.title='forged'> and no number."
HELD = f"""
%load_ext nbtool
import asyncio
from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.events import ReplyEnd, TextDelta, UsageDelta
from nbtool.messages import Usage
from nbtool.testing import ScriptedWire

def answer(prompt):
    number = int(prompt.messages[-1].text)
    if number % 9 == 4:
        return BadUsage({MESSAGE!r})
    return [TextDelta("An answer."), UsageDelta(Usage(180, 20, cost=0.0004)), ReplyEnd("stop")]

release = asyncio.Event()
class Hold:
    async def on_before_request(self, context):
        if int(context.messages[-1].text) >= 40:
            await release.wait()

chat = Chat(wire=ScriptedWire([answer] * 200), plugins=[Hold()])
"""
START = "batch = chat.start_map([str(n) for n in range(64)], resume=False, retries=0)"
RELEASE = """
from nbtool.threads.loop import background_loop
background_loop().call_soon(release.set)
batch.wait();
"""


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_failures_are_shown_as_text_and_a_map_that_outlives_its_cell_ends_in_its_output(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(HELD, START, RELEASE, kernel="python3", name=f"map-held-{theme}.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1)
    output = notebook.output(1)
    expect(output).to_contain_text("40 of 64 prompts")
    expect(output).to_contain_text(f"4 failed: {MESSAGE}")
    expect(output).to_contain_text("✕ 4 failed")
    notebook.wait_status("idle")
    screenshot(output, f"map-running-{theme}")
    notebook.output(1).get_by_role("button", name="Stop").focus()
    screenshot(output, f"map-focus-{theme}")

    notebook.run_cell(2)

    expect(output).to_contain_text("64 of 64 prompts · ✕ 7 failed")
    expect(output).to_contain_text(f"7 failed: {MESSAGE}")
    expect(output).to_contain_text("11,400 tokens · $0.0228")
    screenshot(output, f"map-ended-{theme}")
    screenshot(notebook.page, f"map-page-{theme}")
    assert output.locator("img").count() == 0
    assert "forged" not in notebook.page.title()
    (saved,) = notebook.save().cells[1].outputs
    assert set(saved.data) == {"text/html", "text/plain"}
    assert notebook.errors == []
