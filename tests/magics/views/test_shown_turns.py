"""The outputs of finished turns show the versions that other cells added, and say when they left the active branch."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.turn import Turn
from nbtool.ids import short_id
from nbtool.magics.views.shown_turns import ShownTurn, ShownTurns
from nbtool.testing import ScriptedWire


class Handle:
    """An output that records its updates."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []

    def update(self, bundle: dict[str, Any], *, raw: bool) -> None:
        assert raw
        self.updates.append(bundle)


def show(shown: ShownTurns, chat: Chat, turn: Turn, cell: str = "") -> Handle:
    handle = Handle()
    turn.cell_id = cell
    shown.add(ShownTurn(turn, handle, turn.transcript()))
    shown.update_others(turn, chat)
    return handle


def test_an_output_shows_the_versions_that_other_cells_added() -> None:
    shown = ShownTurns()
    with ScriptedWire(["One.", "Other.", "Two.", "Three."]) as wire:
        chat = Chat(wire=wire)
        turn, other = chat.send("Go."), chat.send("Another turn.")
        outputs = [show(shown, chat, turn, "a"), show(shown, chat, other, "b")]
        versions = []
        for cell in "cd":
            versions.append(chat.rerun(turn))
            outputs.append(show(shown, chat, versions[-1], cell))

    heads = [[bundle[TURN_MIME]["head"] for bundle in handle.updates] for handle in outputs]
    assert [(head["version"], head["versions"]) for head in heads[0]] == [(1, 2), (1, 3)]
    assert [(head["version"], head["versions"]) for head in heads[2]] == [(2, 3)]
    assert heads[0][1]["turns"] == [turn.turn_id, *(version.turn_id for version in versions)]
    assert "One." in outputs[0].updates[1]["text/plain"]
    assert heads[1] == heads[3] == []


def test_an_output_that_its_cell_has_replaced_is_not_updated() -> None:
    shown = ShownTurns()
    with ScriptedWire(["One.", "Two."]) as wire:
        chat = Chat(wire=wire)
        turn = chat.send("Go.")
        former = show(shown, chat, turn, "a")
        show(shown, chat, chat.rerun(turn), "a")

    assert former.updates == []


@pytest.mark.parametrize(("limit", "updated"), [(1, []), (2, [1])])
def test_only_the_latest_outputs_are_updated(limit: int, updated: list[int]) -> None:
    shown = ShownTurns(max_shown=limit)
    with ScriptedWire(["One.", "Two."]) as wire:
        chat = Chat(wire=wire)
        turn = chat.send("Go.")
        former = show(shown, chat, turn, "a")
        show(shown, chat, chat.rerun(turn), "b")

    assert [bundle[TURN_MIME]["head"]["version"] for bundle in former.updates] == updated


def test_turns_that_left_the_active_branch_say_so_until_they_are_back() -> None:
    shown = ShownTurns()
    with ScriptedWire(["One.", "Two.", "Three.", "Four."]) as wire:
        chat = Chat(wire=wire)
        first, second = chat.send("Go."), chat.send("Go on.")
        outputs = [show(shown, chat, first, "a"), show(shown, chat, second, "b")]
        edited = chat.edit(first, "Go elsewhere.")
        outputs.append(show(shown, chat, edited, "c"))
        chat.switch(second)
        show(shown, chat, chat.send("Go back."), "d")

    texts = [[bundle["text/plain"] for bundle in handle.updates] for handle in outputs]
    assert [["Not on the current line" in text for text in shown_texts] for shown_texts in texts] == [
        [True, False],
        [True, False],
        [True],
    ]
    assert f"`%chat branch {short_id(second.turn_id)} --switch` goes back here." in texts[1][0]
    assert "Two." in texts[1][0]


def test_turns_are_marked_at_once_when_another_branch_becomes_the_active_one() -> None:
    shown = ShownTurns()
    with ScriptedWire(["One.", "Two.", "Three."]) as wire:
        chat = Chat(wire=wire)
        first, second = chat.send("Go."), chat.send("Go on.")
        outputs = [show(shown, chat, first, "a"), show(shown, chat, second, "b")]
        outputs.append(show(shown, chat, chat.edit(first, "Go elsewhere."), "c"))
        chat.switch(second)
        shown.update_branch(chat)
        shown.update_branch(chat)

    assert [["Not on the current line" in bundle["text/plain"] for bundle in handle.updates] for handle in outputs] == [
        [True, False],
        [True, False],
        [True],
    ]
