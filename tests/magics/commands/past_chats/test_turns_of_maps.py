"""Turns of maps: commands that read one leave the chats of this kernel as they are, and say what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbtool.chat.journal import journal
from nbtool.ids import short_id
from tests.magics.commands.saying import run_command

MAP = """
from nbtool import Chat
from nbtool.testing import ScriptedWire, call

wire = ScriptedWire([call("double", n=1), "two", call("double", n=2), "four", call("double", n=3), "six"])
chat = Chat(wire=wire, tools=[double])
batch = chat.map(["One", "Two"], concurrency=1, progress=False)
turn = batch.answers[0].turn.turn_id
"""


@pytest.fixture(autouse=True)
def own_home() -> Iterator[None]:
    journal.cache_clear()
    yield
    journal.cache_clear()


@pytest.fixture
def turn(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    """Map two prompts with a tool, and give the id of the first turn."""
    assert shell.run_cell(MAP).success
    capsys.readouterr()
    return str(shell.user_ns["turn"])


@pytest.fixture
def map_id(turn: str) -> str:
    ((chat_id,),) = journal().read(
        lambda connection: connection.execute(
            "SELECT DISTINCT chat_id FROM events WHERE turn_id = ?", (turn,)
        ).fetchall()
    )
    return short_id(chat_id)


def kernel_of(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


@pytest.mark.parametrize("command", ["show", "show --whole", "code"])
@pytest.mark.parametrize("is_later", [False, True])
def test_a_turn_of_a_map_is_only_read(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str], command: str, is_later: bool
) -> None:
    if is_later:
        shell.run_line_magic("reload_ext", "nbtool")
    said = run_command(shell, f"{command} {turn}", capsys)

    assert f"a turn of a map, and only read: `%chat explore {map_id}` shows the turns of maps like" in said
    assert "earlier" not in said
    assert "lost" not in said
    assert "continues" not in said
    assert not any(chat.tree.roots for chat in kernel_of(shell).chats.values())


def test_the_code_of_a_turn_of_a_map_runs(shell: Any, turn: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, f"code {turn}", capsys)
    shell.run_cell(shell.rl_next_input)

    assert shell.user_ns["r1"] == 2
    assert "Two" not in shell.rl_next_input


def test_a_turn_that_a_map_added_after_its_chat_was_opened_is_read_all_the_same(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"open {map_id}", capsys)
    shell.run_cell("later = chat.map(['Three'], progress=False).answers[0].turn.turn_id")
    later = shell.user_ns["later"]
    read = run_command(shell, f"code {later}", capsys)
    shell.run_cell(f"%chat switch {later}")
    refused = "".join(capsys.readouterr())

    assert turn
    assert "This is a turn of a map, and only read" in read
    assert "was deleted, or a map has added it since its chat was opened here." in refused
    assert f"`%chat open {map_id}` opens it again." in refused


def test_a_map_that_is_opened_does_not_speak_of_an_earlier_kernel(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_command(shell, f"open {map_id}", capsys)

    assert turn
    assert "1 result was lost with its map." in said
    assert "earlier kernel" not in said
