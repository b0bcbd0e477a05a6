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
        == "Since the last turn: `double` no longer exists, so this chat has no such tool until it is defined again; "
        "`frame` no longer exists."
    )
    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""


def test_what_the_chat_uses_no_more_is_not_reported(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"{SAY.strip()} -t !double -v !frame -q\nHello")
    shell.run_cell("double = frame = 1")

    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""


DOUBLE = "def double(n: int) -> int:\n    'Twice.'\n    return 2 * n"


def tools_of(shell: Any) -> set[str]:
    return set(shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools())


@pytest.mark.parametrize("then", ["del double", "double = 5", "import math as double", "double = [1, 2]"])
def test_the_tool_of_a_name_that_is_no_tool_any_more_goes_and_comes_back_with_it(
    shell: Any, then: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(then)
    without = rebinding_note(shell, f"{SAY}Hello", capsys)
    left = tools_of(shell)
    again = rebinding_note(shell, f"{SAY}Hello", capsys)
    shell.run_cell(DOUBLE)
    back = rebinding_note(shell, f"{SAY}Hello", capsys)

    assert "so this chat has no such tool until it is defined again" in without
    assert ("no longer exists" if then.startswith("del") else "is ") in without
    assert (left, again) == (set(), "")
    assert back == "Since the last turn: `double` is defined again, and a tool of this chat again."
    assert tools_of(shell) == {"double"}


def test_a_tool_that_a_cell_takes_away_while_its_name_is_gone_does_not_come_back(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("del double")
    shell.run_cell(f"{SAY.strip()} -q -t !double\nHello")
    shell.run_cell(DOUBLE)

    assert rebinding_note(shell, f"{SAY}Hello", capsys) == ""
    assert tools_of(shell) == set()


def test_single_tools_of_a_toolset_come_back_as_they_were_chosen(shell: Any) -> None:
    make = "from nbtool import Toolset\nshop = Toolset('shop', [Shop().price, Shop().buy])"
    shell.run_cell("class Shop:\n    def price(self) -> int: return 3\n    def buy(self) -> int: return 3\n" + make)
    shell.run_cell(f"{SAY.strip()} -q -t shop.price\nHello")
    shell.run_cell("del shop")
    shell.run_cell(f"{SAY}Hello")
    without = tools_of(shell)
    shell.run_cell(make)
    shell.run_cell(f"{SAY}Hello")

    assert (without, tools_of(shell)) == ({"double"}, {"double", "price"})


def test_a_dry_run_takes_no_tool_away(shell: Any) -> None:
    shell.run_cell("del double")
    shell.run_cell(f"{SAY.strip()} --dry-run\nHello")
    shell.run_cell(DOUBLE)
    shell.run_cell(f"{SAY}Hello")

    assert tools_of(shell) == {"double"}
