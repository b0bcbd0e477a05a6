"""The kernel's control channel as a way of a click, and what `%chat status --check` says, in JupyterLab."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import KERNEL, PICTURED_THEMES, Lab, screenshot

LOAD = "%load_ext nbtool"
BLOCKING = """
%load_ext nbtool
import time
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call

@tool(run="auto")
def block() -> str:
    "Occupy the thread of the notebook."
    print("occupied")
    for _ in range(1_200):
        time.sleep(0.05)
    return "done"

@tool
def double(n: int) -> int:
    "Twice a number."
    return 2 * n

blocked = Chat(wire=ScriptedWire([call("block"), "Done."]), tools=[block])
asking = Chat(wire=ScriptedWire([call("double", n=21), "It is 42."]), tools=[double])
"""
STOP_SECONDS = 5.0
"""How long a stop may take on a busy machine; the tool would run for a minute."""

WATCH = f"""() => {{
    window.byControl = [];
    {KERNEL}.anyMessage.connect((_, {{ direction, msg }}) => {{
        if (direction === "send" && msg.channel === "control" && msg.header.msg_type === "nbtool_message")
            window.byControl.push(msg.content.data.content.kind);
    }});
}}"""


def test_a_click_and_a_stop_take_the_control_channel(lab: Lab, kernel: str) -> None:
    cells = (BLOCKING, "%%chat -c asking -o answer\nGo.", "%%chat -c blocked -o stopped\nGo.")
    checks = "print(answer.status, answer.calls[0].decisions[0].by, stopped.status, stopped.calls[0].status)"
    notebook = lab.open_cells(*cells, checks, kernel=kernel)
    notebook.page.evaluate(WATCH)
    notebook.run_cell(0)

    notebook.start_cell(1)
    approve = notebook.output(1).get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    assert notebook.status() == "busy"
    approve.click()
    notebook.wait_ended(1)
    notebook.start_cell(2)
    notebook.wait_output(2, "occupied")
    notebook.output(2).get_by_role("button", name="Stop", exact=True).click()
    notebook.wait_ended(2, seconds=STOP_SECONDS)

    expect(notebook.output(2)).to_contain_text("Stopped before it was finished.")
    expect(notebook.run_cell(3)).to_contain_text("completed button cancelled cancelled")
    sent = notebook.page.evaluate("() => window.byControl")
    assert {"hello", "approve", "stop"} <= set(sent)
    assert notebook.errors == []


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_doctor_finds_every_way_of_jupyterlab(lab: Lab, kernel: str, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(LOAD, "%chat status --check", kernel=kernel)
    notebook.run_cell(0)
    said = notebook.run_cell(1).inner_text()
    screenshot(notebook.page, f"doctor-{theme}-{kernel}")

    yes = [line.split("  ")[1].strip() for line in said.splitlines() if line.startswith("yes  ")]
    assert "JupyterLab, connected after" in said
    assert {"page", "click by comm", "click by control", "stop", "line of input", "parking", "cells"} <= set(yes)
    assert {"extension", "formulas", "diagrams", "threads", "journal"} <= set(yes)
    assert "widget" not in [one.output_type for one in notebook.save().cells[1].outputs]
    assert notebook.errors == []
