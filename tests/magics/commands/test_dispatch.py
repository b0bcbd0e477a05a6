"""What `%chat help` says of commands that work on earlier turns."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.magics.commands.dispatch import COMMANDS, CONTINUES_CHAT
from nbtool.magics.flags.flag_table import REPEATING
from tests.magics.commands.saying import run_command

CONTINUING = [name for name, command in COMMANDS.items() if command.continues_chat]


@pytest.mark.parametrize("command", [*CONTINUING, "show", "explore"])
def test_the_help_says_which_commands_continue_an_earlier_chat(
    shell: Any, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = " ".join(run_command(shell, f"help {command}", capsys).split())

    assert (CONTINUES_CHAT in said) == (command in CONTINUING)
    assert "only read" in said or command in CONTINUING


@pytest.mark.parametrize("line", ["{}", "help {}"])
@pytest.mark.parametrize("flag", sorted(REPEATING))
def test_a_flag_of_cells_that_is_taken_for_a_command_is_named_as_one(
    shell: Any, capsys: pytest.CaptureFixture[str], flag: str, line: str
) -> None:
    shell.run_cell(f"%chat {line.format(flag)}")

    assert f"`%%chat --{flag}`" in "".join(capsys.readouterr())


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize(
    "line",
    [
        "history search", "history chats", "history erase", "history vacuum", "history frame", "export md", "env allow",
        "approvals revoke", "config max_rounds", "open -m x", "undo --replace", "fix", "serve", "deny", "prompt",
    ],
)  # fmt: skip
def test_a_flag_of_help_after_a_subcommand_shows_the_help_and_does_nothing(
    shell: Any, line: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = line.split()[0]

    assert run_command(shell, f"{line} {flag}", capsys) == run_command(shell, f"help {command}", capsys)


def test_every_command_shows_its_help_after_its_name_and_one_argument(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    different = [
        name
        for name in COMMANDS
        if name != "help"
        and COMMANDS[name].arguments != "none"
        and run_command(shell, f"{name} something --help", capsys) != run_command(shell, f"help {name}", capsys)
    ]

    assert different == []


def test_a_longer_text_with_such_a_word_is_searched_for(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "'zyzzyva is -h" in run_command(shell, "history search zyzzyva is -h", capsys)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%chat -c '' status", "%chat -c takes the name of a chat."),
        ("%chat -c", "%chat -c takes the name of a chat."),
        ("%chat -c a -c b status", "%chat takes one `-c NAME`, and two were given."),
        ("%chat -c a status --chat b", "%chat takes one `-c NAME`, and two were given."),
        ("%chat open 'a b'", "`%%chat -c 'a b'` starts one"),
        ("%chat open x --model=practice:fast", "no chat id starts with 'x'"),
        ("%chat open -mpractice:fast x", "no chat id starts with 'x'"),
        ("%chat open x --model=", "-m takes a model."),
        ("%chat open x -m", "-m takes a model."),
        ("%chat open x --modell=a", "Did you mean --model?"),
        ("%chat undo --replac=1", "Did you mean --replace?"),
        ("%chat history frame for", "'for' is not a valid variable name."),
        ("%chat config max_rounds 2.5", "max_rounds cannot be '2.5' (expected a whole number)."),
        ("%chat config timeout x", "timeout cannot be 'x' (expected a number)."),
        ("%chat config quiet maybe", "quiet cannot be 'maybe' (expected true or false)."),
        ("%%chat -t f,g\nHi", "Write names, with spaces between them."),
        ("%%chat -v x,y\nHi", "Write names, with spaces between them."),
        ("%%chat -t f()\nHi", "Write a name of the notebook, and no expression."),
        ("%%chat -v x.y\nHi", "Assign it to a name first."),
        ("%%chat -v frame[0]\nHi", "Did you mean frame or Frame?"),
        ("%%chat -t f\nHi", "Run the cell that defines it first."),
    ],
)
def test_a_line_of_another_form_is_refused_with_what_to_write(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    shell.user_ns.pop("f", None)
    shell.user_ns["frame"] = [1]
    capsys.readouterr()
    shell.run_cell(line)

    assert expected in capsys.readouterr().err
