"""`%chat show --whole`: what every cut names as the way to the rest."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.journal import journal
from nbtool.chat.journal.queries import MAX_EVENTS
from nbtool.ids import short_id
from tests.magics.commands.saying import run_command

LONG_TOOL = """
from nbtool import tool

@tool(run="auto")
def letter(name: str) -> str:
    "A letter to somebody."
    return "Dear " + name + ", " + "line " * 300 + "yours."
"""

FILL = """
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
INSERT INTO events SELECT -number, at, chat_id, 'turn_other', 'notice', '{}'
FROM numbers, (SELECT at, chat_id FROM events LIMIT 1)
"""
"""Adds events to the only chat of a journal, before those that it has."""


@pytest.fixture
def journal_path() -> Iterator[Path]:
    """Give the file of a journal that only this test writes."""
    journal.cache_clear()
    path = journal().path
    assert path
    yield path
    journal().close()
    journal.cache_clear()


def chats(shell: Any) -> dict[str, Any]:
    found: dict[str, Any] = shell.magics_manager.registry["ChatMagics"].chats
    return found


def state(shell: Any) -> Any:
    """Return what a command that only reads leaves as it is: the present chat, and the line of each chat."""
    kernel = shell.magics_manager.registry["ChatMagics"].kernel_chats
    return kernel.current, {
        name: (chat.chat_id, [node.node_id for node in chat.tree.active_path])
        for name, chat in kernel.chats.items()
        if chat.tree.roots
    }


@pytest.fixture
def output(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    shell.run_cell(LONG_TOOL)
    capsys.readouterr()
    shell.run_cell("%%chat -m practice:fast -t letter\nUse &`letter` for Ada.")
    return capsys.readouterr().out


def test_the_command_under_a_turn_that_is_cut_prints_all_of_it(
    shell: Any, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "yours." not in output
    command = re.search(r"`%chat (show \S+ --whole)` prints them", output)
    assert command
    whole = run_command(shell, command[1], capsys)

    assert "line " * 300 + "yours." in whole
    assert "--whole" not in whole


def test_it_works_in_the_next_kernel_too(shell: Any, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = re.search(r"`%chat (show \S+ --whole)`", output)
    assert command
    shell.run_line_magic("reload_ext", "nbtool")

    assert "line " * 300 + "yours." in run_command(shell, command[1], capsys)


@pytest.mark.parametrize("flag", ["", " --whole"])
@pytest.mark.parametrize("has_turns", [False, True])
def test_a_turn_of_an_earlier_kernel_is_only_read(
    shell: Any, output: str, capsys: pytest.CaptureFixture[str], flag: str, has_turns: bool
) -> None:
    assert output
    earlier = chats(shell)["main"]
    turn = earlier.tree.active_path[-1].turn
    shell.run_line_magic("reload_ext", "nbtool")
    if has_turns:
        shell.run_cell("%%chat -q -m practice:fast\nGood morning")
    before = state(shell)
    said = run_command(shell, f"show {turn.turn_id}{flag}", capsys)

    assert "Dear Ada" in said
    assert f"only read: `%chat open {short_id(earlier.chat_id)}` continues it." in said
    assert state(shell) == before


def test_a_turn_of_another_chat_is_shown_without_a_switch_to_it(
    shell: Any, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output
    shell.run_cell("%%chat -q -m practice:fast -c other -o answer\nGood morning")
    before = state(shell)
    said = run_command(shell, f"show {shell.user_ns['answer'].turn_id}", capsys)

    assert "'other'" in said
    assert state(shell) == before


def test_a_deleted_turn_is_not_read_from_the_journal(
    shell: Any, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output
    turn = chats(shell)["main"].tree.active_path[-1].turn.turn_id
    chats(shell)["main"].delete(turn)
    shell.run_cell(f"%chat show {turn}")

    assert "was deleted" in "".join(capsys.readouterr())


def test_more_than_one_turn_is_refused(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%chat show 1 2")

    assert "%chat show" in "".join(capsys.readouterr())


def test_without_a_turn_the_last_is_printed(shell: Any, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output
    assert "line " * 300 + "yours." in run_command(shell, "show --whole", capsys)


@pytest.mark.nightly
def test_a_turn_of_a_map_is_shown_even_where_the_chat_of_the_map_is_too_large_to_open(
    shell: Any, journal_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = Chat("practice:fast").start_map(["Good morning"]).wait().answers[0].turn
    assert turn
    journal().close()
    with sqlite3.connect(journal_path) as connection:
        connection.execute(FILL, (MAX_EVENTS,))
        (chat_id,) = connection.execute("SELECT chat_id FROM events LIMIT 1").fetchone()

    assert turn.text in run_command(shell, f"show {turn.turn_id}", capsys)
    for command in (f"open {chat_id}", f"explore {chat_id}"):
        shell.run_cell(f"%chat {command}")
        refused = "".join(capsys.readouterr())
        assert f"more than {MAX_EVENTS:,} events" in refused
        assert "`%chat show TURN`" in refused
