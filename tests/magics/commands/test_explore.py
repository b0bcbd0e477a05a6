from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Here
from nbtool.magics.commands.explore import turn_to_open
from nbtool.magics.commands.history_source import Explored
from nbtool.testing import ScriptedWire, call
from nbtool.view.explorer_messages import CellWanted
from tests.magics.commands.saying import said


@pytest.fixture
def talked(shell: Any) -> Any:
    """Give a shell in which a cell had a function called, and said something else in its place."""
    wire = ScriptedWire([call("double", n=4), "Eight.", "Hello."])
    chat = shell.magics_manager.registry["ChatMagics"].workbench.chat("main")
    chat.model = Chat(wire=wire).model
    shell.run_cell("%%chat -q -t double --approve auto -o first\nDouble four.")
    shell.run_cell("%%chat -q -o second\nSay hello.")
    return shell


def explored(shell: Any) -> Explored:
    return Explored(Here(shell.magics_manager.registry["ChatMagics"].workbench))


def test_without_a_page_the_history_is_printed(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(talked, "explore", capsys)

    assert "History: 2 places, 2 turns" in text
    assert "✓ Double four. · 1 call" in text


def test_nothing_said_is_said_in_a_line(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing was said yet." in said(shell, "explore", capsys)


def test_a_past_chat_of_the_journal_is_looked_at_by_its_id(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat_id = explored(talked).tree and talked.magics_manager.registry["ChatMagics"].workbench.chat("main").chat_id
    said(talked, "new", capsys)
    del talked.magics_manager.registry["ChatMagics"].workbench.chats["main"]

    text = said(talked, f"explore {chat_id}", capsys)

    assert "✓ Double four. · 1 call" in text
    assert "2 turns" in text


def test_a_chat_that_is_not_there_and_too_many_words_are_refused(talked: Any) -> None:
    magics = talked.magics_manager.registry["ChatMagics"]

    for line, expected in (("explore chat_nobody", "no chat begins"), ("explore a b", "takes one chat at most")):
        with pytest.raises(Exception, match=expected):
            magics.chat(line)


def test_what_acts_is_a_cell_with_the_words_of_the_magics(talked: Any) -> None:
    history, turn = explored(talked), talked.user_ns["first"]
    turn_id = turn.turn_id

    def cell(deed: Any, **more: Any) -> str:
        return history.cell(CellWanted(deed, turn_id, **more))

    assert cell("rerun") == f"%%chat --rerun {turn_id}"
    assert cell("rerun", round=2) == f"%%chat --rerun {turn_id} --from 2"
    assert cell("execute", round=1) == f"%%chat --re-execute {turn_id}"
    assert cell("edit") == f"%%chat --edit {turn_id}\nDouble four."
    assert cell("switch") == f"%chat switch {turn_id}"
    assert "double(4)" in cell("code") or "double(n=4)" in cell("code")
    assert cell("code", call_id=turn.calls[0].call_id).count("= double(") == 1
    assert cell("bind", call_id=turn.calls[0].call_id) == f"%chat bind {turn.calls[0].reference}"


def test_a_cell_that_was_written_does_what_it_says(talked: Any) -> None:
    history, second = explored(talked), talked.user_ns["second"].turn_id
    first = talked.user_ns["first"]

    for wanted in (CellWanted("branch", first.turn_id), CellWanted("switch", second)):
        assert talked.run_cell(history.cell(wanted)).success
    assert talked.run_cell(history.cell(CellWanted("bind", first.turn_id, call_id=first.calls[0].call_id))).success

    assert talked.user_ns[first.calls[0].reference] == 8


def test_of_a_past_chat_nothing_can_be_done_but_to_go_on_with_it(talked: Any) -> None:
    here = Here(talked.magics_manager.registry["ChatMagics"].workbench, "my chat")
    past = Explored(here, explored(talked).tree, past="chat_1")

    assert past.cell(CellWanted("go_on")) == "%chat -c 'my chat' open chat_1"
    with pytest.raises(BadUsage, match="past chat"):
        past.cell(CellWanted("rerun", talked.user_ns["first"].turn_id))


def test_the_times_of_a_recalled_turn_come_from_the_journal(talked: Any) -> None:
    turn = talked.user_ns["first"]
    own = explored(talked).detail(turn.turn_id)
    turn.moments.clear()

    recalled = explored(talked).detail(turn.turn_id)

    assert [step["label"] for step in recalled["steps"]] == [step["label"] for step in own["steps"]]
    assert all(step["at"] is not None for step in recalled["steps"])


def test_the_turn_that_is_named_is_open_first(talked: Any) -> None:
    from nbtool.view.explorer import ExplorerWidget  # noqa: PLC0415 - only this test imports widgets

    first = talked.user_ns["first"].turn_id

    assert turn_to_open(explored(talked), [first[:12]]) == first
    assert turn_to_open(explored(talked), []) == ""
    assert ExplorerWidget(explored(talked), title="x", acts=(), turn=first).turn == first
    with pytest.raises(BadUsage, match="one turn or one chat"):
        talked.magics_manager.registry["ChatMagics"].workbench.line(f"explore {first} {first}")
