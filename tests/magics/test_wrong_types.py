"""Values of wrong types in a notebook are refused where they enter: the chat can be shown, explored and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.turn import Turn
from tests.magics.commands.saying import run_command

BAD_PROGRESS = {
    "swapped": 'Progress(0.5, "half")',
    "a fraction as a text": 'Progress("half", "0.5")',
    "bytes": 'Progress(b"half")',
    "no fraction of 1": 'Progress("half", 50)',
    "less than nothing": 'Progress("half", -0.5)',
    "no number": 'Progress("half", float("nan"))',
    "a class": "Progress(Progress)",
}

WORK = """
from nbtool import Progress, ToolFailed, tool

@tool(run="auto")
def work(n: int):
    "Work."
    yield {bad}
    return n
"""

DATABASES = """
class Database:
    def __init__(self, name):
        self.name = name
    def query(self, text: str) -> str:
        "Query."
        return f"{self.name}: {text}"

prod, test = Database("prod"), Database("test")
"""


def check_readable(shell: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that every command that reads the chat does its work."""
    for command in ("show", "explore", "history", *(f"export {kind} {folder / kind}" for kind in ("json", "md"))):
        capsys.readouterr()
        assert shell.run_cell(f"%chat {command}").success, capsys.readouterr().out


@pytest.mark.parametrize("bad", BAD_PROGRESS.values(), ids=BAD_PROGRESS)
def test_bad_progress_fails_its_call_and_the_chat_can_be_read(
    shell: Any, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(WORK.format(bad=bad))

    assert shell.run_cell("%%chat -m practice:fast -o answer\nUse &`work` with 21.").success
    answer: Turn = shell.user_ns["answer"]
    assert (answer.status, answer.calls[0].status) == ("completed", "error")
    assert answer.calls[0].shown.startswith(("Progress: text cannot be ", "Progress: fraction cannot be "))
    check_readable(shell, tmp_path, capsys)


def test_a_turn_that_refused_a_value_can_be_read(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell("%%chat -m practice:fast -o answer\nHello.").success

    for statement in ("answer.text = 5", "answer.prompt = 5", "answer.status = None", "answer.rounds = 5"):
        assert not shell.run_cell(statement).success
    check_readable(shell, tmp_path, capsys)


def test_two_tools_of_one_name_in_one_cell_are_refused_and_in_two_cells_the_later_one_counts(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(DATABASES)

    for flags in ("-t prod test", "-t prod -t test", "-t prod -t test.query"):
        capsys.readouterr()
        result = shell.run_cell(f"%%chat -m practice:fast {flags}\nHello.")
        printed = capsys.readouterr()
        assert not result.success, flags
        assert "'query'" in printed.out + printed.err
    assert shell.run_cell("%%chat -m practice:fast -t prod prod\nHello.").success
    assert shell.run_cell("%%chat -m practice:fast -t test\nHello.").success
    assert "query" in run_command(shell, "tools", capsys)


def test_serving_two_tools_of_one_name_is_refused(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(DATABASES)
    capsys.readouterr()

    assert not shell.run_cell("import nbtool\nnbtool.serve(prod, test)").success

    printed = capsys.readouterr()
    assert "'query'" in printed.out + printed.err
