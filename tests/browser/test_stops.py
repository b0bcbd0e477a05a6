"""Stops in JupyterLab: one call alone, while the turn goes on; and the whole turn, in the same way whatever it does."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot

SETUP = """
%load_ext nbtool
import asyncio, time
from nbtool import Chat, Progress, tool
from nbtool.testing import ScriptedWire, call

@tool(run="auto")
def fit(name: str) -> str:
    "Fit a model; it runs on the thread of the notebook, and never ends by itself."
    print("fitting", name)
    for step in range(100_000):
        yield Progress(f"step {step + 1} of {name}", min(0.3, step / 10))
        time.sleep(0.05)

@tool(run="auto")
async def wait(name: str) -> str:
    "Wait until it is allowed to end."
    while name not in released:
        await asyncio.sleep(0.05)
    return f"{name} was released"

@tool(run="auto", thread=True)
def deaf(name: str) -> str:
    "Cannot be interrupted."
    while name not in released:
        time.sleep(0.05)
    return name

released = set()

def chat_of(*calls):
    def answer(prompt):
        results = [part.text for message in prompt.messages for part in message.parts if hasattr(part, "call_id")
                   and hasattr(part, "text")]
        return "The model read: " + " | ".join(results)
    return Chat(wire=ScriptedWire([list(calls), answer, "More."]), tools=[fit, wait, deaf])

one = chat_of(call("fit", name="a"))
several = chat_of(call("wait", name="a"), call("wait", name="b"))
worker = chat_of(call("deaf", name="c"))
"""
AFTER = "print('the next cell ran')"


def opened(lab: Lab, name: str, *cells: str) -> Notebook:
    notebook = lab.open_cells(SETUP, *cells, kernel="python3", name=f"{name}.ipynb")
    notebook.run_cell(0)
    return notebook


def row(turn: Locator, text: str) -> Locator:
    return turn.locator("details.nb-call", has_text=text)


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_synchronous_call_is_stopped_alone_and_the_turn_goes_on(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = opened(lab, f"one-{theme}", "%%chat -c one\nFit it.", AFTER)
    notebook.start_cell(1)
    turn = notebook.output(1)
    stop = turn.get_by_role("button", name="Stop fit")
    expect(stop).to_have_attribute("title", "Stop this call; the turn goes on")
    expect(row(turn, "fit")).to_contain_text("of a")
    screenshot(turn, f"stop-call-{theme}")

    stop.click()
    notebook.wait_ended(1)

    expect(turn).to_contain_text("The model read: The user stopped this call.")
    expect(row(turn, "fit")).to_contain_text("stopped by you")
    expect(turn).to_contain_text("fitting a")
    row(turn, "fit").locator("summary").click()
    expect(row(turn, "fit")).to_contain_text("step 1 of a")
    screenshot(turn, f"stopped-call-{theme}")
    expect(notebook.run_cell(2)).to_contain_text("the next cell ran")
    assert notebook.errors == []


def test_of_parallel_calls_the_other_goes_on(lab: Lab) -> None:
    notebook = opened(lab, "several", "%%chat -c several --approve auto\nWait.", AFTER)
    notebook.start_cell(1)
    turn = notebook.output(1)
    stops = turn.get_by_role("button", name="Stop wait")
    expect(stops).to_have_count(2)

    stops.first.focus()
    notebook.page.keyboard.press("Enter")
    expect(row(turn, 'name="a"')).to_contain_text("The user stopped this call.")
    expect(stops).to_have_count(1)
    assert notebook.is_running(1)
    turn.get_by_role("button", name="Stop wait").click()
    notebook.wait_ended(1)

    expect(turn).to_contain_text("The user stopped this call. | The user stopped this call.")


def test_a_call_that_cannot_be_interrupted_is_left_running_and_the_turn_says_so(lab: Lab) -> None:
    notebook = opened(lab, "deaf", "%%chat -c worker\nGo.", "released.add('c')")
    notebook.start_cell(1)
    turn = notebook.output(1)
    turn.get_by_role("button", name="Stop deaf").click()
    notebook.wait_ended(1)

    expect(turn).to_contain_text("its tool could not be interrupted and is still running")
    notebook.run_cell(2)


CHECK = "print(answer.status, [one.status for one in answer.calls])"
STREAM = "%%chat -m practice:default -o answer\nHello, who are you, and what can you do for me here?"
SYNC = "%%chat -c one -o answer\nFit it."


def queue_after(notebook: Notebook, first: int) -> None:
    """Start a cell and the one after it, which waits in the queue."""
    notebook.start_cell(first)
    notebook.start_cell(first + 1)


def assert_stopped(notebook: Notebook, at: int) -> None:
    """The turn has ended by a stop, nothing is red, and the cell that waited did not run."""
    turn = notebook.output(at)
    notebook.wait_ended(at)
    expect(turn).to_contain_text("Stopped before it was finished.")
    expect(notebook.cell(at + 1).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    expect(turn.locator("[data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)
    expect(turn.locator(".nb-alert")).to_have_count(0)
    kinds = [one.output_type for one in notebook.save().cells[at].outputs]
    assert "error" not in kinds
    assert "the next cell ran" not in notebook.output(at + 1).inner_text()


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["button", "interrupt"])
@pytest.mark.parametrize("what", ["reply", "call"])
def test_a_stop_ends_the_turn_shows_no_error_and_drops_the_queue(lab: Lab, what: str, how: str) -> None:
    notebook = opened(lab, f"stop-{what}-{how}", STREAM if what == "reply" else SYNC, AFTER, CHECK)
    queue_after(notebook, 1)
    turn = notebook.output(1)
    notebook.wait_output(1, "embedded practice" if what == "reply" else "of a")

    if how == "button":
        turn.get_by_role("button", name="Stop", exact=True).click()
    else:
        notebook.interrupt()

    assert_stopped(notebook, 1)
    if what == "call":
        expect(turn).to_contain_text("fitting a")
        row(turn, "fit").locator("summary").click()
        expect(row(turn, "fit")).to_contain_text("step 1 of a")
    screenshot(turn, f"stopped-{what}-{how}")
    expect(notebook.run_cell(3)).to_contain_text("cancelled ['cancelled']" if what == "call" else "cancelled []")
    expect(notebook.run_cell(2)).to_contain_text("the next cell ran")
    notebook.write_cell(2, "1 / 0")
    expect(notebook.run_cell(2)).to_contain_text("ZeroDivisionError")
    assert notebook.errors == []
