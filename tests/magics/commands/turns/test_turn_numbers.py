"""A turn of the active branch is selected by its number in `%chat history`, wherever a turn is."""

from __future__ import annotations

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


def test_history_numbers_the_turns_and_shows_ids_where_they_are_asked_for(
    chatted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = list(enumerate(("one", "two", "three"), 1))

    rows = output_of(chatted, "history", capsys).splitlines()[:3]
    assert rows == [f"{number}  completed; Say {name}" for number, name in turns]

    rows = output_of(chatted, "history --ids", capsys).splitlines()[:3]
    assert rows == [f"{number}  completed; Say {name}  [{chatted.user_ns[name].turn_id}]" for number, name in turns]


def test_a_version_has_a_number_too(chatted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chatted.run_cell("%%chat -q --rerun 2 -o again\n")

    assert "(others: 2.1); Say two" in output_of(chatted, "history", capsys)
    assert output_of(chatted, "branch 2.1 --switch", capsys).startswith("Switched to turn 2 ")
    chat = chatted.magics_manager.registry["ChatMagics"].chats["main"]
    assert chat.tree.numbered_turns()[2][1] is chatted.user_ns["two"]
    assert chat.tree.get("2.2")[1] is chatted.user_ns["again"]


UNDONE_BY = {"branch": "branch b1"}
"""The commands after which another line is active, and what undoes them."""


@pytest.mark.parametrize("command", ["show", "branch", "explore"])
def test_a_command_takes_the_number_of_a_turn(chatted: Any, capsys: pytest.CaptureFixture[str], command: str) -> None:
    outputs = []
    for where in ("2", chatted.user_ns["two"].turn_id):
        outputs.append(output_of(chatted, f"{command} {where}", capsys))
        if command in UNDONE_BY:
            output_of(chatted, UNDONE_BY[command], capsys)

    assert outputs[0] == outputs[1]
    assert command == "show" or "Say two" in outputs[0]


def test_a_cell_takes_the_number_of_a_turn(chatted: Any) -> None:
    chatted.run_cell("%%chat -q --edit 2 -o other\nSay four")
    chatted.run_cell("%%chat -q --rerun 1 -o again\n")

    chat = chatted.magics_manager.registry["ChatMagics"].chats["main"]
    assert chat.tree.find(chatted.user_ns["other"].turn_id).parent is chat.tree.find(chatted.user_ns["one"].turn_id)
    assert chatted.user_ns["again"].prompt.text.strip() == "Say one"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("show 0", "This line has no number 0: it has the turns 1 to 3."),
        ("show 4", "This line has no number 4: it has the turns 1 to 3."),
        ("explore 999999999", "This line has no number 999999999: it has the turns 1 to 3."),
        ("show 2.2", "Turn 2 has no version 2: it has one version."),
        ("show 2.0", "no turn begins with '2.0'"),
        ("branch b2", "This chat has no branch 2: it has branch 1 only."),
        (f"show {'9' * 5_000}", "no turn begins"),
        (f"branch b{'9' * 5_000}", "This chat has no branch 999999999[… 4,991 characters more]: it has branch 1 only."),
    ],
)
def test_a_number_without_a_turn_is_refused_in_one_line(
    chatted: Any, capsys: pytest.CaptureFixture[str], words: str, problem: str
) -> None:
    capsys.readouterr()
    chatted.run_cell(f"%chat {words}")
    text = "".join(capsys.readouterr())

    assert problem in text
    assert "`%chat history` lists them" in text
    assert "Traceback" not in text


def test_a_chat_without_turns_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%chat show 1")

    assert "0 turns" in "".join(capsys.readouterr())
