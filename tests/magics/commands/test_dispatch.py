"""What `%chat help` says of commands that work on earlier turns."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.magics.commands.dispatch import CELL_FLAGS, CONTINUES_CHAT, TURN_COMMANDS
from tests.magics.commands.saying import run_command


@pytest.mark.parametrize("command", [*sorted(TURN_COMMANDS), "show", "explore", "code"])
def test_the_help_says_which_commands_continue_an_earlier_chat(
    shell: Any, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = " ".join(run_command(shell, f"help {command}", capsys).split())

    assert (CONTINUES_CHAT in said) == (command in TURN_COMMANDS)
    assert "only read" in said or command in TURN_COMMANDS


@pytest.mark.parametrize("line", ["{}", "help {}"])
@pytest.mark.parametrize("flag", sorted(CELL_FLAGS))
def test_a_flag_of_cells_that_is_taken_for_a_command_is_named_as_one(
    shell: Any, capsys: pytest.CaptureFixture[str], flag: str, line: str
) -> None:
    shell.run_cell(f"%chat {line.format(flag)}")

    assert f"There is no command %chat {flag}. It is a flag of a cell: `%%chat --{flag}`." in "".join(
        capsys.readouterr()
    )
