from __future__ import annotations

from typing import Any

import pytest

from tests.magics.commands.saying import run_command
from tests.magics.parking import ParkingChat


def test_new_starts_an_empty_conversation_and_keeps_the_old_one(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    run_command(shell, "new", capsys)

    assert "completed" not in run_command(shell, "history", capsys)


def test_show_shows_the_whole_line_and_a_turn_that_is_named(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Hello" not in run_command(shell, "show", capsys)
    shell.run_cell("%%chat -q -m practice:fast -o first\nHello")
    shell.run_cell("%%chat -q -m practice:fast\nHello again")

    whole = run_command(shell, "show", capsys)
    one = run_command(shell, f"show {shell.user_ns['first'].turn_id}", capsys)

    assert whole.index("> Hello\n") < whole.index("> Hello again\n")
    assert whole.count("practice model") == 2
    assert one.count("practice model") == 1


def test_a_turn_is_listed_with_what_came_of_its_calls(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("@tool(run='ask_once')\ndef once(n: int) -> int:\n    'Once.'\n    return n")
    shell.run_cell("%%chat -q --approve deny -m practice:fast\nUse &`once` with 3.")
    shell.run_cell("%%chat -q --approve auto -m practice:fast\nUse &`once` with 3.")

    first, second = run_command(shell, "history", capsys).splitlines()[:2]

    assert "1 call denied;" in first
    assert "completed; Use" in second


def test_a_turn_that_was_stopped_is_called_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking = ParkingChat()
    shell.magics_manager.registry["ChatMagics"].chats["main"] = parking.chat
    turn = parking.park()
    run_command(shell, "stop", capsys)

    assert turn.status == "cancelled"
    assert "cancelled; Pay." in run_command(shell, "history", capsys)
