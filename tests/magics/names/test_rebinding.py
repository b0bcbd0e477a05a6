"""Names that stand for something else than in the last turn, and the line that says so."""

from __future__ import annotations

from typing import Any

import pytest

SAY = "%%chat -m practice:fast\n"


def rebinding_note(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(cell)
    return next((line for line in capsys.readouterr().out.splitlines() if line.startswith("Since the last turn")), "")


@pytest.fixture(autouse=True)
def first_turn(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert rebinding_note(shell, f"{SAY}Use &`double` with 2, and see $`frame`.", capsys) == ""


def test_what_is_as_it_was_is_not_reported(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("frame.rows = 5")

    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""


def test_a_tool_that_was_redefined_is_reported_once(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("@tool(run='auto')\ndef double(n: int) -> int:\n    'Thrice.'\n    return 3 * n")

    assert rebinding_note(shell, f"{SAY}Hello", capsys) == (
        "Since the last turn: `double` was redefined; calls use the new definition."
    )
    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""


def test_a_variable_that_is_another_object_is_reported_by_its_type_alone(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("frame = 'nothing to be told'")
    actual = rebinding_note(shell, f"{SAY}Hello", capsys)

    assert actual.startswith("Since the last turn: `frame` is now another object (str")
    assert "nothing" not in actual


def test_a_name_that_is_gone_is_reported(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("del frame, double")

    assert (
        rebinding_note(shell, f"{SAY}Hello", capsys)
        == "Since the last turn: `double` no longer exists; `frame` no longer exists."
    )
    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""


def test_what_the_chat_uses_no_more_is_not_reported(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"{SAY.strip()} -T double --hide frame -q\nHello")
    shell.run_cell("double = frame = 1")

    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""
