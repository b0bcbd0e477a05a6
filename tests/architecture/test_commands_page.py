"""docs/commands.md lists every flag, command and setting, as the tables of the source have them now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.magics.flags.config import NbTool
from nbtool.magics.flags.flag_table import cell_parser

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    script = ROOT / "docs" / "commands.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_flag_command_and_setting_is_a_row() -> None:
    rows = [row.split(" | ")[0] for row in (ROOT / "docs" / "commands.md").read_text("utf-8").splitlines()]
    flags = [name for flag in cell_parser().flags() for name in flag.option_strings]
    names = [*flags, *COMMANDS, *NbTool.class_trait_names(config=True)]

    assert [name for name in names if not any(f"`{name}`" in row or f"`%chat {name}`" in row for row in rows)] == []
