"""The next day: every button of a saved turn writes a cell, and that cell works in a new kernel or says what helps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import journal
from tests.magics.commands.saying import said

CELLS = (Path(__file__).parents[3] / "js" / "src" / "lab" / "actions.ts").read_text()
TABLE = re.search(r"const CELLS.*?= \{\n(.*?)\n\};", CELLS, re.DOTALL)
BUTTONS = re.findall(r"^  (\w+): \(", TABLE[1] if TABLE else "", re.MULTILINE)
WRITTEN = {
    "rerun": "%%chat --rerun {turn}",
    "edit": "%%chat --edit {turn}\nWhat is the price of MSFT?",
    "code": "%chat code {turn}",
    "explore": "%chat explore {turn}",
    "version": "%chat switch {turn}",
}
"""The cell that each button of a saved turn writes."""

PRICE = "def price(ticker: str) -> float:\n    'Price of a ticker.'\n    return 1.5"


@pytest.fixture(autouse=True)
def a_home_of_its_own() -> Iterator[None]:
    journal.cache_clear()
    yield
    journal.cache_clear()


@pytest.fixture
def yesterday(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    """Say something with a tool, end the kernel, and give the turn's id."""
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q -m practice:fast -t price -o answer --approve auto\nUse &`price` for AAPL.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.user_ns.pop("price")
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    capsys.readouterr()
    return turn


def shown(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    shell.run_cell(cell)
    out = capsys.readouterr()
    return out.out + out.err


def test_each_button_of_a_saved_turn_is_tried() -> None:
    assert set(BUTTONS) == set(WRITTEN)


@pytest.mark.parametrize("button", WRITTEN)
def test_with_its_tool_in_the_notebook_it_works(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    shell.run_cell(PRICE)
    told = shown(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert "goes on here as 'main': 1 turn on its line." in told
    assert "Tools that are here again: price." in told
    assert "no turn begins" not in told
    tree = shell.magics_manager.registry["ChatMagics"].chats["main"].tree
    said_now = {"rerun": (1, 2), "edit": (2, 1)}.get(button, (1, 1))
    assert (len(tree.roots), len(tree.roots[0].versions)) == said_now


@pytest.mark.parametrize("button", WRITTEN)
def test_without_its_tool_it_works_and_says_which_is_missing(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    told = shown(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert "Tools that are not in this notebook: price; give them with `-t NAME`." in told
    assert "no turn begins" not in told


@pytest.mark.parametrize("button", WRITTEN)
def test_in_a_chat_that_has_turns_of_its_own_it_says_the_command_that_helps(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    begun = said(shell, "history chats", capsys).split()[0]
    shell.run_cell("%%chat -q\nGood morning")
    told = shown(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert f"`%chat open {begun}` continues it here" in told
    assert "1 turn on its line" in said(shell, f"open {begun}", capsys)
    assert "no turn" not in shown(shell, WRITTEN[button].format(turn=yesterday), capsys)


@pytest.mark.parametrize("button", WRITTEN)
def test_where_the_journal_is_gone_it_says_what_to_do(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    said(shell, "history erase all", capsys)
    told = shown(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert f"The turn {yesterday} is neither in this chat nor in the journal." in told
    assert "Run its cell again, or `%chat open FILE` where you exported it." in told


def test_a_tool_that_comes_with_nbtool_is_said_with_the_name_of_its_toolset(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("df = [1]")
    shell.run_cell("%%chat -q -m practice:fast -t nbtool:python -v df -o answer\nUse &`run_python` on $`df`.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.run_line_magic("reload_ext", "nbtool")
    capsys.readouterr()

    assert "run_python (`-t nbtool:python`)" in shown(shell, f"%chat switch {turn}", capsys)
