from __future__ import annotations

from typing import Any

import pytest

from tests.magics.commands.saying import said


def test_new_begins_afresh_and_keeps_what_was_said(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    said(shell, "new", capsys)

    assert "Nothing was said yet" in said(shell, "history", capsys)


def test_show_shows_a_turn_again(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert "practice model" in said(shell, "show", capsys)
