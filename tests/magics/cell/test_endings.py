"""The cell of a stopped turn ends without an error output, and the cells after it do not run."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.magics.cell.endings import TurnStopped, stop_cell
from nbtool.testing import ScriptedWire

STOPPING = """
@tool(run="auto")
def stop_the_turn() -> str:
    "Stop the turn, as its button does."
    get_ipython().magics_manager.registry["ChatMagics"].chats["main"].running_turns[0].cancel()
    return "stopped"
"""


class KernelShell:
    """The part of a kernel's shell that shows errors."""

    def __init__(self) -> None:
        self.kernel = object()
        self.shown: list[BaseException] = []

    def _showtraceback(self, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:  # noqa: ARG002 - the signature of IPython
        self.shown.append(value)

    def show(self, error: BaseException) -> None:
        self._showtraceback(type(error), error, [])


@pytest.fixture
def ended() -> Turn:
    with ScriptedWire(["Hello."]) as wire:
        return Chat(wire=wire).send("Hi.")


def test_a_cell_whose_turn_is_stopped_fails_so_that_the_queue_stops(shell: Any) -> None:
    shell.run_cell(STOPPING)
    result = shell.run_cell("%%chat -m practice:fast -o answer\nUse &`stop_the_turn`.")

    assert isinstance(result.error_in_exec, TurnStopped)
    assert shell.user_ns["answer"].status == "cancelled"


def test_the_stop_of_a_turn_is_shown_as_no_error_and_a_later_error_is(
    ended: Turn, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, other = KernelShell(), ZeroDivisionError()

    stopped = stop_cell(shell, ended, has_view=True)
    shell.show(stopped)
    shell.show(other)

    assert shell.shown == [other]
    assert capsys.readouterr().out == ""


def test_an_error_of_the_cell_that_caught_the_stop_is_shown(ended: Turn) -> None:
    shell, other = KernelShell(), ZeroDivisionError()

    stop_cell(shell, ended, has_view=True)
    shell.show(other)
    shell.show(other)

    assert shell.shown == [other, other]


def test_where_no_view_says_it_the_line_is_printed(ended: Turn, capsys: pytest.CaptureFixture[str]) -> None:
    stop_cell(KernelShell(), ended, has_view=False)

    assert capsys.readouterr().out == "Stopped. Partial output is kept.\n"


@pytest.fixture
def debuggers(shell: Any, monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """Turn `%pdb` on, and give the exceptions for which IPython's debugger opens, in place of its dialog."""
    opened: list[BaseException | None] = []
    monkeypatch.setattr(shell.InteractiveTB, "debugger", lambda **_: opened.append(sys.exc_info()[1]))
    shell.run_line_magic("pdb", "on")
    return opened


@pytest.mark.parametrize(
    "cell",
    [
        "%%chat -m practice:fast --timeout 0.000001\nHello",
        "%%chat -m practice:fast --budget 1\nHello",
        "%%chat -m practice:fast\nUse &`stop_the_turn`.",
        "%%chat --no-such-flag\nHello",
        "%%chat -m practice:fast -v missing\nHello",
        "%chat show missing",
        "x = 1\n%%chat\nHello",
    ],
)
def test_no_debugger_opens_for_a_cell_that_ends_without_a_fault_of_code(
    shell: Any, debuggers: list[BaseException | None], cell: str
) -> None:
    shell.run_cell(STOPPING)
    shell.run_cell(cell)

    assert debuggers == []


def test_the_debugger_opens_for_other_errors_and_when_a_person_asks_for_it(
    shell: Any, debuggers: list[BaseException | None]
) -> None:
    shell.run_cell("1 / 0")
    opened = [type(error) for error in debuggers]
    shell.run_cell("%%chat -m practice:fast --timeout 0.000001\nHello")
    shell.run_line_magic("debug", "")

    assert opened == [ZeroDivisionError]
    assert len(debuggers) == 2
