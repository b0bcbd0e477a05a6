from __future__ import annotations

from typing import Any

import pytest

from tests.magics.commands.saying import said


def test_status_says_which_model_and_why(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")

    told = said(shell, "status", capsys)

    assert "practice:fast (as you said)" in told
    assert "double" in told
    assert "frame" in told
    assert "1 on the active line" in told


def test_tools_and_variables_are_listed_as_the_model_is_told_of_them(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double rows -v frame\nHello")

    assert "ask_always" in said(shell, "tools", capsys)
    assert "Frame" in said(shell, "vars", capsys)


def test_help_lists_every_command(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(shell, "help", capsys)

    assert all(word in told for word in ("status", "history", "approvals", "decode"))


def test_status_is_a_card_of_what_the_model_can_see_and_of_what_has_left(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("numbers = list(range(1000))")
    shell.run_cell("%%chat -q -m practice:fast -v frame --read numbers\nHello")

    told = said(shell, "status", capsys)

    assert "  frame" in told
    assert "values withheld" in told
    assert "values may be read" in told
    assert "127.0.0.1:" in told
    assert "requests" in told
