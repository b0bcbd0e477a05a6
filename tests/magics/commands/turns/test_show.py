"""`%chat show --whole`: what every cut names as the way to the rest."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.magics.commands.saying import run_command

LONG_TOOL = """
from nbtool import tool

@tool(run="auto")
def letter(name: str) -> str:
    "A letter to somebody."
    return "Dear " + name + ", " + "line " * 300 + "yours."
"""


@pytest.fixture
def output(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    shell.run_cell(LONG_TOOL)
    capsys.readouterr()
    shell.run_cell("%%chat -m practice:fast -t letter\nUse &`letter` for Ada.")
    return capsys.readouterr().out


def test_the_command_under_a_turn_that_is_cut_prints_all_of_it(
    shell: Any, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "yours." not in output
    command = re.search(r"`%chat (show \S+ --whole)` prints them", output)
    assert command
    whole = run_command(shell, command[1], capsys)

    assert "line " * 300 + "yours." in whole
    assert "--whole" not in whole


def test_it_works_in_the_next_kernel_too(shell: Any, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = re.search(r"`%chat (show \S+ --whole)`", output)
    assert command
    shell.run_line_magic("reload_ext", "nbtool")

    assert "line " * 300 + "yours." in run_command(shell, command[1], capsys)


def test_without_a_turn_the_last_is_printed(shell: Any, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output
    assert "line " * 300 + "yours." in run_command(shell, "show --whole", capsys)
