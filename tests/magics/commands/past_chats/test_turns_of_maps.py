"""Turns of maps: commands that read one leave the chats of this kernel as they are, and say what it is."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat import map_chats
from nbtool.chat.journal import journal
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.past_chats import explore
from nbtool.magics.commands.past_chats.history_source import HistorySource
from tests.magics.commands.saying import run_command

MAP = """
from nbtool import Chat
from nbtool.testing import ScriptedWire, call

wire = ScriptedWire([call("double", n=1), "two", call("double", n=2), "four", call("double", n=3), "six"])
chat = Chat(wire=wire, tools=[double])
batch = chat.map(["One", "Two"], concurrency=1, progress=False)
turn = batch.answers[0].turn.turn_id
"""


pytestmark = pytest.mark.usefixtures("own_journal")


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


@pytest.mark.parametrize("argument", ["turn", "map"])
def test_the_title_of_the_explorer_names_the_chat_that_is_shown(
    shell: Any, turn: str, map_id: str, monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(explore, "has_front_end", lambda _: True)
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.setattr(HistorySource, "saved", lambda _, title, __: titles.append(title) or {})

    shell.run_line_magic("chat", f"explore {turn if argument == 'turn' else map_id}")

    assert titles == [f"History of {map_id}"]


def test_of_a_map_that_was_opened_the_title_names_both(shell: Any, map_id: str) -> None:
    shell.run_line_magic("chat", f"open {map_id}")
    context = CommandContext(kernel_of(shell))

    assert explore.title_of(context, HistorySource(context)).endswith(f"main ({map_id})")


def kernel_of(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


@pytest.mark.parametrize("command", ["show", "show --whole", "export py --cell"])
@pytest.mark.parametrize("is_later", [False, True])
def test_a_turn_of_a_map_is_only_read(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str], command: str, is_later: bool
) -> None:
    if is_later:
        shell.run_line_magic("reload_ext", "nbtool")
    said = run_command(shell, f"{command} {turn}", capsys)

    assert f"`%chat explore {map_id}`" in said
    assert "earlier" not in said
    assert "lost" not in said
    assert "continues" not in said
    assert not any(chat.tree.roots for chat in kernel_of(shell).chats.values())


def test_the_code_of_a_turn_of_a_map_runs(shell: Any, turn: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, f"export py --cell {turn}", capsys)
    assert f"# Turn {turn}: One" in shell.rl_next_input  # a number would be that of a turn of the present chat
    shell.run_cell(shell.rl_next_input)

    assert shell.user_ns["r1"] == 2
    assert "Two" not in shell.rl_next_input


def test_a_turn_that_a_map_added_after_its_chat_was_opened_is_read_all_the_same(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"open {map_id}", capsys)
    shell.run_cell("later = chat.map(['Three'], progress=False).answers[0].turn.turn_id")
    later = shell.user_ns["later"]
    read = run_command(shell, f"export py --cell {later}", capsys)
    shell.run_cell(f"%chat branch {later} --switch")
    refused = "".join(capsys.readouterr())

    assert turn
    assert "only read" in read
    assert f"`%chat open {map_id}`" in refused


def test_a_map_that_is_opened_does_not_speak_of_an_earlier_kernel(
    shell: Any, turn: str, map_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_command(shell, f"open {map_id}", capsys)

    assert turn
    assert "1 result " in said
    assert "earlier kernel" not in said


@pytest.mark.parametrize("command", ["history", "show", "explore", "status", "export py --cell", "export md"])
def test_where_the_chat_is_empty_it_says_where_the_turns_of_maps_are(
    shell: Any, map_id: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    shell.run_cell(f"%chat {command}")
    said = " ".join("".join(capsys.readouterr()).split())

    assert f"{map_id}: `%chat history list`" in said


def test_without_a_map_it_names_none(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_chats, "_latest", [])

    assert "chat_" not in run_command(shell, "history", capsys)
