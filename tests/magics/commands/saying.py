from __future__ import annotations

from typing import Any

import pytest


def run_command(shell: Any, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(f"%chat {command}")
    return capsys.readouterr().out
