from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from nbtool import Chat
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.magics.notebook.cell_changes import CellChange
from nbtool.magics.saved_turn_requests import answer_page
from nbtool.magics.views.shown_turns import ShownTurn, shown_turns
from nbtool.testing import ScriptedWire, call
from tests.magics.commands.saying import run_command
from tests.magics.views.test_shown_turns import Handle

TOOL = """
df, log = [1, 2], []

@tool(run="auto")
def change() -> str:
    "Change the notebook."
    global df, new
    df, new = [3], "made"
    log.append(1)
    return "done"
"""


@pytest.fixture
def changed(shell: Any) -> str:
    """Give the id of a turn whose call changed names of the notebook."""
    return change_names(shell)


def change_names(shell: Any) -> str:
    shell.user_ns["mine"] = Chat(wire=ScriptedWire([call("change"), "Done.", "Nothing."]))
    assert shell.run_cell(TOOL).success
    assert shell.run_cell("%%chat -c mine -t change -o answer\nChange it.").success
    return str(shell.user_ns["answer"].turn_id)


def test_the_names_that_a_turn_changed_are_listed_under_it_with_the_command_that_puts_them_back(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = change_names(shell)
    said = capsys.readouterr().out

    assert "`new`; replaced `df`;" in said
    assert "`log`" in said
    assert f"`%chat -c mine undo {changed[:13]}`" in said
    assert "`answer`" not in said.split("Names:")[1]


@pytest.mark.parametrize("words", ["undo", "undo {turn}", "undo 1"])
def test_undo_puts_former_objects_back(
    shell: Any, changed: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_command(shell, f"-c mine {words.format(turn=changed)}", capsys)

    assert said.startswith("Undid turn 1 ")
    assert "`log`" in said
    assert shell.user_ns["df"] == [1, 2]
    assert "new" not in shell.user_ns
    assert shell.user_ns["log"] == [1]


def test_names_that_the_person_changed_since_are_left_alone(
    shell: Any, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("df = 'mine'")

    said = run_command(shell, f"-c mine undo {changed}", capsys)

    assert shell.user_ns["df"] == "mine"
    assert "`df`" in said
    assert f"`%chat -c mine undo {changed[:13]} --replace`" in said
    assert "`df`" in run_command(shell, f"-c mine undo {changed} --replace", capsys)
    assert shell.user_ns["df"] == [1, 2]


def test_the_output_of_the_turn_says_what_was_put_back_and_offers_undo_while_anything_is_left(
    shell: Any, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    turn, handle = shell.user_ns["answer"], Handle()
    transcript = turn.transcript()
    transcript.show_changes("Names: added `new`; replaced `df`. `%chat undo` takes this back.", can_undo=True)
    shown_turns.add(ShownTurn(turn, handle, transcript))
    shell.run_cell("df = 'mine'")

    run_command(shell, f"-c mine undo {changed}", capsys)
    run_command(shell, f"-c mine undo {changed} --replace", capsys)

    documents = [bundle[TURN_MIME] for bundle in handle.updates]
    texts = [document["blocks"][-1]["text"] for document in documents]
    assert [document["head"].get("undo") for document in documents] == [True, None]
    assert "`new`" in texts[0]
    assert "--replace`" in texts[0]
    assert "`df`" in texts[1]
    assert "--replace" not in texts[1]
    assert not any("takes this back" in bundle["text/plain"] for bundle in handle.updates)


def test_undo_without_a_turn_undoes_what_was_done_last(
    shell: Any, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(f"import nbtool\nnbtool.chats()['mine'].delete({changed!r})")

    assert run_command(shell, "-c mine undo", capsys).startswith("Restored ")
    assert shell.user_ns["df"] == [3]
    assert run_command(shell, "-c mine undo", capsys).startswith("Undid turn 1")
    shell.run_cell("%chat -c mine undo")
    assert "undo" in capsys.readouterr().err


def test_the_button_of_a_saved_turn_puts_them_back_too(shell: Any, changed: str) -> None:
    chats = shell.magics_manager.registry["ChatMagics"].kernel_chats
    request = {"v": 1, "kind": "undo", "chat": "mine", "turn": changed}

    answer = answer_page(chats, request)
    again = answer_page(chats, request)

    assert answer
    assert answer["ok"]
    assert answer["text"].startswith("Undid turn 1")
    assert shell.user_ns["df"] == [1, 2]
    assert again
    assert not again["ok"]
    assert again["text"]


def test_the_button_of_a_saved_turn_that_changed_cells_writes_the_cell_that_takes_it_back(
    shell: Any, changed: str
) -> None:
    chats = shell.magics_manager.registry["ChatMagics"].kernel_chats
    chats.names.changes.find(changed).cells.append(CellChange("inserted", "new"))

    answer = answer_page(chats, {"v": 1, "kind": "undo", "chat": "mine", "turn": changed})

    assert answer
    assert answer["ok"]
    assert answer["source"] == f"%chat -c mine undo {changed[:13]}"
    assert shell.user_ns["df"] == [3]


def test_a_turn_that_changed_nothing_says_nothing(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -m practice:fast\nHello")

    assert "Names:" not in capsys.readouterr().out


def test_a_turn_keeps_no_object_alive_that_it_did_not_replace(shell: Any) -> None:
    shell.run_cell("class Large: pass\nlarge = Large()")
    reference = weakref.ref(shell.user_ns["large"])
    shell.run_cell("%%chat -m practice:fast\nHello")

    shell.run_cell("del large")
    gc.collect()

    assert reference() is None
