"""The skill about nbtool: its code runs, what it names exists, and it is installed by one command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.utils.capture import capture_output

from nbtool.magics.commands.command_table import COMMANDS
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.skill import SKILL
from nbtool.toolsets.skill_files import MAX_DESCRIPTION, read_head
from tests.shells import end_shell, new_shell

TEXT = SKILL.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)\n```", TEXT, re.DOTALL)
MAX_CHARACTERS = 8_000
"""What an agent reads at once without regret."""


@pytest.fixture
def shell() -> Iterator[Any]:
    yield new_shell()
    end_shell()


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbtool.skill", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_its_head_is_what_the_convention_asks_for() -> None:
    name, description = read_head(SKILL)

    assert name == SKILL.parent.name == "nbtool"
    assert 0 < len(description) <= MAX_DESCRIPTION
    assert len(TEXT) <= MAX_CHARACTERS


def test_its_cells_run_one_after_the_other(shell: Any) -> None:
    assert [language for language, _ in BLOCKS] == ["python", "", "python", "python"]
    for _, code in BLOCKS:
        with capture_output():
            shell.run_cell(code).raise_error()

    assert shell.user_ns["answer"].calls
    assert shell.user_ns["turn"].status == "completed"


def test_every_flag_and_command_that_it_names_exists() -> None:
    flags = set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", " ".join(re.findall(r"`([^`\n]+)`", TEXT)))) - {"-m"}
    commands = set(re.findall(r"`%chat (\w+)", TEXT))

    assert flags
    assert flags - {option for action in cell_parser()._actions for option in action.option_strings} == {"--cell"}
    assert commands - COMMANDS.keys() == {"help"}


def test_one_command_prints_it_or_writes_it_into_a_folder_of_skills(tmp_path: Path) -> None:
    assert run_module().stdout == TEXT
    written = run_module(str(tmp_path / "skills"))

    assert (tmp_path / "skills" / "nbtool" / "SKILL.md").read_text(encoding="utf-8") == TEXT
    assert written.returncode == 0
    assert run_module(str(tmp_path / "skills")).returncode == 0


def test_a_text_that_somebody_changed_is_left_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "nbtool" / "SKILL.md"
    own.parent.mkdir()
    own.write_text("mine")

    refused = run_module(str(tmp_path))

    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert own.read_text() == "mine"
