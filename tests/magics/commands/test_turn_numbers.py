"""A turn of the active branch is selected by its number in `%chat history`, wherever a turn is."""

from __future__ import annotations

import re
from typing import Any

import pytest


@pytest.fixture
def chatted(shell: Any) -> Any:
    """Give a shell whose chat has three turns."""
    for name in ("one", "two", "three"):
        shell.run_cell(f"%%chat -q -m practice:fast -o {name}\nSay {name}")
    return shell


def output_of(shell: Any, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_line_magic("chat", line)
    return capsys.readouterr().out


def test_history_numbers_the_turns(chatted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = output_of(chatted, "history", capsys).splitlines()[:3]

    assert [re.split(r"\s+", row)[:2] for row in rows] == [
        [str(number), chatted.user_ns[name].turn_id] for number, name in enumerate(("one", "two", "three"), 1)
    ]


@pytest.mark.parametrize("command", ["show", "hide", "pin", "unpin", "unhide", "branch", "delete", "explore"])
def test_a_command_takes_the_number_of_a_turn(chatted: Any, capsys: pytest.CaptureFixture[str], command: str) -> None:
    outputs = []
    for where in ("2", chatted.user_ns["two"].turn_id):
        outputs.append(output_of(chatted, f"{command} {where}", capsys))
        if command == "delete":
            output_of(chatted, "undo", capsys)

    assert outputs[0] == outputs[1]
    assert command == "show" or "Say two" in outputs[0] or chatted.user_ns["two"].turn_id in outputs[0]


def test_a_cell_takes_the_number_of_a_turn(chatted: Any) -> None:
    chatted.run_cell("%%chat -q --edit 2 -o other\nSay four")
    chatted.run_cell("%%chat -q --rerun 1 -o again\n")

    chat = chatted.magics_manager.registry["ChatMagics"].chats["main"]
    assert chat.tree.find(chatted.user_ns["other"].turn_id).parent is chat.tree.find(chatted.user_ns["one"].turn_id)
    assert chatted.user_ns["again"].prompt.text.strip() == "Say one"


@pytest.mark.parametrize("number", ["0", "4", "999999999", "9" * 5_000])
def test_a_number_without_a_turn_is_refused_in_one_line(
    chatted: Any, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    chatted.run_cell(f"%chat show {number}")
    text = "".join(capsys.readouterr())

    assert "no number" in text or "no turn begins" in text
    assert "`%chat history` lists them." in text
