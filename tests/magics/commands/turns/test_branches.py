from __future__ import annotations

import re
from typing import Any

import pytest

from nbtool.chat.chat import Chat
from nbtool.ids import short_id
from tests.magics.commands.saying import run_command


@pytest.fixture
def chat_shell(shell: Any) -> Any:
    """Give a shell in which three things were said."""
    for prompt in ("one", "two", "three"):
        shell.run_cell(f"%%chat -q -m practice:fast\n{prompt}")
    return shell


def chat_of(shell: Any) -> Chat:
    chat: Chat = shell.magics_manager.registry["ChatMagics"].chats["main"]
    return chat


def line(shell: Any) -> list[str]:
    return [node.turn.prompt.text for node in chat_of(shell).tree.active_path if node.turn]


def ids(shell: Any) -> list[str]:
    return [node.turn.turn_id for node in chat_of(shell).tree.active_path if node.turn]


def test_a_branch_replaces_what_followed_and_the_history_lists_both(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = ids(chat_shell)

    assert f"`%chat branch {short_id(third)}`" in run_command(chat_shell, f"branch {first}", capsys)
    chat_shell.run_cell("%%chat -q\nTWO")
    history = run_command(chat_shell, "history --ids", capsys)

    assert "  b1  3 turns; two\n* b2  2 turns; TWO\n" in run_command(chat_shell, "history", capsys)
    assert line(chat_shell) == ["one", "TWO"]
    assert f"  b1  3 turns; two  [{third}]" in history
    assert f"* b2  2 turns; two  [{ids(chat_shell)[1]}]" not in history
    assert f"* b2  2 turns; TWO  [{ids(chat_shell)[1]}]" in history
    assert second not in ids(chat_shell)


def test_a_branch_of_no_turn_replaces_the_last(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(chat_shell, "branch", capsys)
    chat_shell.run_cell("%%chat -q\nTHREE")

    assert line(chat_shell) == ["one", "two", "THREE"]


@pytest.mark.parametrize("command", ["branch", "branch 1", "new"])
def test_the_command_that_leaves_a_line_names_the_one_that_goes_back(
    chat_shell: Any, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = run_command(chat_shell, command, capsys)
    again = run_command(chat_shell, f"branch {ids(chat_shell)[-1]}" if ids(chat_shell) else command, capsys)
    way_back = re.search(r"`%chat (branch \w+)` goes back", said)
    assert way_back
    run_command(chat_shell, way_back[1], capsys)

    assert line(chat_shell) == ["one", "two", "three"]
    assert "goes back" not in again


def test_a_switch_goes_by_number_or_by_turn(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    third = ids(chat_shell)[-1]
    run_command(chat_shell, "branch", capsys)
    chat_shell.run_cell("%%chat -q\nTHREE")

    assert run_command(chat_shell, "branch b1", capsys).startswith("Switched to turn 3 ")
    assert line(chat_shell) == ["one", "two", "three"]
    run_command(chat_shell, "branch b2", capsys)
    assert line(chat_shell) == ["one", "two", "THREE"]
    run_command(chat_shell, f"branch {third} --switch", capsys)
    assert line(chat_shell) == ["one", "two", "three"]


def test_each_branch_is_listed_with_the_first_prompt_that_it_alone_has(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(chat_shell, "branch 1", capsys)
    for prompt in ("TWO", "THREE"):
        chat_shell.run_cell(f"%%chat -q\n{prompt}")

    listed = run_command(chat_shell, "history", capsys)
    run_command(chat_shell, "branch b1", capsys)
    other = run_command(chat_shell, "history", capsys)

    for text, marks in ((listed, " *"), (other, "* ")):
        assert re.findall(r"([* ]) b\d  3 turns; (\w+)", text) == [(marks[0], "two"), (marks[1], "TWO")]


def test_a_branch_as_it_is_listed_becomes_a_chat(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(chat_shell, "branch 1", capsys)
    chat_shell.run_cell("%%chat -q\nTWO")
    assert "b2" in run_command(chat_shell, "history", capsys)

    for number in (1, 2):
        run_command(chat_shell, f"branch b{number} --as chat{number}", capsys)

    chat_shell.run_cell("import nbtool\nlines = [nbtool.chats()[f'chat{n}'].tree.active_path for n in (1, 2)]")
    prompts = [[node.turn.prompt.text for node in nodes] for nodes in chat_shell.user_ns["lines"]]
    assert prompts == [["one", "two", "three"], ["one", "TWO"]]
    assert line(chat_shell) == ["one", "TWO"]


def test_hidden_and_pinned_turns_are_marked_in_the_history(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, _ = ids(chat_shell)

    chat_shell.run_cell(
        f"import nbtool\nnbtool.chats()['main'].hide({first!r})\nnbtool.chats()['main'].pin({second!r})"
    )
    history = run_command(chat_shell, "history", capsys)
    chat_shell.run_cell(f"nbtool.chats()['main'].show({first!r})\nnbtool.chats()['main'].unpin({second!r})")

    assert "; hidden; one\n" in history
    assert "; pinned; two\n" in history
    assert "hidden" not in run_command(chat_shell, "history", capsys)


def test_a_deletion_is_undone(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    second = ids(chat_shell)[1]

    chat_shell.run_cell(f"import nbtool\nnbtool.chats()['main'].delete({second!r}, below=True)")
    assert line(chat_shell) == ["one"]
    assert run_command(chat_shell, "undo", capsys) == "Restored 2 versions.\n"
    chat_shell.run_cell(f"nbtool.chats()['main'].delete({second!r})")
    assert line(chat_shell) == ["one", "three"]
    assert run_command(chat_shell, "undo", capsys) == "Restored 1 version.\n"
    assert line(chat_shell) == ["one", "two", "three"]


def test_other_versions_are_in_the_history(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat_shell.run_cell("%%chat -q --rerun")

    assert "completed; version 2 of 2 (others: 3.1); three" in run_command(chat_shell, "history", capsys)


@pytest.mark.parametrize(
    ("command", "actual"),
    [
        ("branch b9", "This chat has no branch 9: it has branch 1 only."),
        ("branch b9", "`%chat branch 1` starts one after turn 1"),
        ("branch a b", "%chat branch takes one turn, not 'a b'."),
        ("branch b9 --as other", "This chat has no branch 9: it has branch 1 only."),
        ("branch b1 --name euro", "`%chat branch b2 --as NAME` makes its turns a chat of that name."),
        ("show chat_c978832c", "chat_c978832c is a chat, and no turn. `%chat explore chat_c978832c` shows it."),
        ("branch nothing", "In this chat no turn begins with 'nothing'."),
        ("undo", "Nothing was deleted, so there is nothing to undo."),
        ("undo one two", "%chat undo takes one turn, not 'one two'."),
    ],
)
def test_bad_usage_is_one_line(chat_shell: Any, capsys: pytest.CaptureFixture[str], command: str, actual: str) -> None:
    capsys.readouterr()
    chat_shell.run_cell(f"%chat {command}")

    err = capsys.readouterr().err
    assert actual in err
    assert "Traceback" not in err
