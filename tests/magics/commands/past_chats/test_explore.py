from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.past_chats.explore import turn_to_open
from nbtool.magics.commands.past_chats.history_source import HistorySource
from nbtool.testing import ScriptedWire, call
from nbtool.view.explorer_messages import CellRequest
from tests.magics.commands.saying import run_command


@pytest.fixture
def chat_shell(shell: Any) -> Any:
    """Give a shell in which a cell had a function called, and said something else in its place."""
    wire = ScriptedWire([call("double", n=4), "Eight.", "Hello."])
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    chat.model = Chat(wire=wire).model
    shell.run_cell("%%chat -q -t double --approve auto -o first\nDouble four.")
    shell.run_cell("%%chat -q -o second\nSay hello.")
    return shell


def history_source(shell: Any) -> HistorySource:
    return HistorySource(CommandContext(shell.magics_manager.registry["ChatMagics"].kernel_chats))


def test_without_a_page_the_history_is_printed(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_command(chat_shell, "explore", capsys)

    assert "2 turns" in text
    assert "Double four. · 1 call" in text


def test_an_empty_conversation_is_reported_in_a_line(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    actual = run_command(shell, "explore", capsys)

    assert "%chat history list" in actual
    assert "%chat explore ID" in actual


def test_a_past_chat_of_the_journal_is_looked_at_by_its_id(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat_id = (
        history_source(chat_shell).tree
        and chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main").chat_id
    )
    run_command(chat_shell, "new", capsys)
    del chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chats["main"]

    text = run_command(chat_shell, f"explore {chat_id}", capsys)

    assert "✓ Double four. · 1 call" in text
    assert "2 turns" in text


def test_a_chat_that_is_not_there_and_too_many_words_are_refused(chat_shell: Any) -> None:
    magics = chat_shell.magics_manager.registry["ChatMagics"]

    for line, expected in (("explore chat_nobody", "no chat id starts"), ("explore a b", "takes at most one chat")):
        with pytest.raises(Exception, match=expected):
            magics.chat(line)


def test_what_acts_is_a_cell_with_the_words_of_the_magics(chat_shell: Any) -> None:
    history, turn = history_source(chat_shell), chat_shell.user_ns["first"]
    turn_id = short_id(turn.turn_id)

    def cell(action: Any, **more: Any) -> str:
        return history.cell(CellRequest(action, turn.turn_id, **more))

    assert cell("rerun") == f"%%chat --rerun {turn_id}"
    assert cell("rerun_from", round=2) == f"%%chat --rerun {turn_id}:2"
    assert cell("execute") == f"%%chat --rerun {turn_id}:tools"
    assert cell("edit") == f"%%chat --edit {turn_id}\nDouble four."
    assert cell("export") == "%chat export md"
    assert cell("switch") == f"%chat branch {turn_id} --switch"
    assert "double(4)" in cell("code") or "double(n=4)" in cell("code")
    assert cell("code", call_id=turn.calls[0].call_id).count("= double(") == 1
    assert cell("bind", call_id=turn.calls[0].call_id) == f"%chat bind {turn.calls[0].reference} --turn {turn_id}"


def test_a_cell_that_was_written_does_what_it_says(chat_shell: Any) -> None:
    history, second = history_source(chat_shell), chat_shell.user_ns["second"].turn_id
    first = chat_shell.user_ns["first"]

    for wanted in (CellRequest("branch", first.turn_id), CellRequest("switch", second)):
        assert chat_shell.run_cell(history.cell(wanted)).success
    assert chat_shell.run_cell(history.cell(CellRequest("bind", first.turn_id, call_id=first.calls[0].call_id))).success

    assert chat_shell.user_ns[first.calls[0].reference] == 8


def test_a_branch_is_named_from_the_explorer_and_a_name_is_given_once(chat_shell: Any) -> None:
    history, turn = history_source(chat_shell), chat_shell.user_ns["first"]

    history.name_branch(turn.turn_id, "numbers")

    chats = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chats
    assert len(chats["numbers"].tree.active_path) == 2
    with pytest.raises(Exception, match="No chat can be called 'numbers' here"):
        history.name_branch(turn.turn_id, "numbers")


def test_of_a_past_chat_nothing_can_be_done_but_to_go_on_with_it(chat_shell: Any) -> None:
    here = CommandContext(chat_shell.magics_manager.registry["ChatMagics"].kernel_chats, "my chat")
    past = HistorySource(here, history_source(chat_shell).tree, chat_id="chat_1")

    assert past.cell(CellRequest("go_on")).split() == ["%chat", "-c", "'my", "chat'", "open", "chat_1"]
    with pytest.raises(BadUsage, match="past chat"):
        past.cell(CellRequest("rerun", chat_shell.user_ns["first"].turn_id))


def test_the_times_of_a_recalled_turn_come_from_the_journal(chat_shell: Any) -> None:
    turn = chat_shell.user_ns["first"]
    own = history_source(chat_shell).detail(turn.turn_id)
    turn.event_times.clear()

    recalled = history_source(chat_shell).detail(turn.turn_id)

    assert [step["label"] for step in recalled["steps"]] == [step["label"] for step in own["steps"]]
    assert all(step["at"] is not None for step in recalled["steps"])


def test_the_turn_that_is_named_is_open_first(chat_shell: Any) -> None:
    from nbtool.view.explorer_widget import ExplorerWidget  # noqa: PLC0415 - only this test imports widgets

    first = chat_shell.user_ns["first"].turn_id

    assert turn_to_open(history_source(chat_shell), [first[:12]]) == first
    assert turn_to_open(history_source(chat_shell), []) == ""
    assert ExplorerWidget(history_source(chat_shell), title="x", acts=(), turn=first).turn == first
    with pytest.raises(BadUsage, match="at most one turn or chat"):
        chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.run_line(f"explore {first} {first}")


def test_what_a_notebook_saves_has_the_turns_and_the_one_to_open_first(chat_shell: Any) -> None:
    from nbtool.view.explorer_widget import ExplorerWidget  # noqa: PLC0415 - only this test imports widgets

    history, second = history_source(chat_shell), chat_shell.user_ns["second"].turn_id
    data = history.saved("History of main", second)
    widget = ExplorerWidget(history, title="x", acts=())

    assert [one["prompt"] for one in data["turns"]] == ["Say hello.", "Double four."]
    assert (data["turn"], data["turns_left_out"]) == (second, 0)
    assert data["turns"][1]["document"]["head"]["turn_id"] == chat_shell.user_ns["first"].turn_id
    assert widget.mimebundle()["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
