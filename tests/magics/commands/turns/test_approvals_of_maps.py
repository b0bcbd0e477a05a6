"""The calls of a map that need approval: how a person in front of a notebook is asked about them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.magics.commands.saying import run_command

SECTION = (Path(__file__).parents[4] / "docs" / "approvals.md").read_text("utf-8").partition("## In a map\n")[2]
EXAMPLE = re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)
CHAT = """
import threading
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Undecided

@tool
def pay(number: int) -> str:
    "Pay an invoice."
    return f"paid {number}"

asked = threading.Event()
def leave(question):
    asked.set()
    return Undecided()

chat = Chat(wire=ScriptedWire([call("pay", number=7), "Done."]), tools=[pay])
prompts = ["Pay invoice 7."]
"""


def test_the_documented_approver_asks_by_a_line_of_input(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or "y")
    shell.run_cell(CHAT)
    shell.run_cell("prompts = ['Pay invoice 7, once.']")

    assert EXAMPLE
    shell.run_cell(EXAMPLE[1])
    shell.run_cell("calls = [(one.name, one.status) for one in batch.answers[0].turn.calls]")

    assert len(asked) == 1
    assert "pay" in asked[0]
    assert "7" in asked[0]
    assert shell.user_ns["calls"] == [("pay", "ok")]
    assert "Traceback" not in capsys.readouterr().out


def test_a_question_of_a_map_in_the_background_is_decided_by_a_command(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(CHAT)
    shell.run_cell("batch = chat.start_map(prompts, approver=leave, progress=False, resume=False)")
    assert shell.user_ns["asked"].wait(240)
    listed = run_command(shell, "-c chat approvals", capsys)
    shell.run_cell(f"%chat -c chat approve {listed.split()[0]}")
    shell.run_cell("calls = [(one.name, one.status) for one in batch.wait().answers[0].turn.calls]")

    assert "Run pay(number=7)?" in listed
    assert shell.user_ns["calls"] == [("pay", "ok")]
