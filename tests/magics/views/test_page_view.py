"""What a cell adds to the head of its turn."""

from __future__ import annotations

from nbtool import Chat
from nbtool.magics.views.page_view import _head_fields
from nbtool.testing import ScriptedWire


def test_the_reason_for_the_model_is_shown_where_it_is_new_and_not_in_every_turn() -> None:
    with ScriptedWire(["One.", "Two.", "Three."]) as wire:
        chat = Chat(wire=wire)
        first = chat.send("Go.")
        second = chat.send("Go on.")
        assert "why" in _head_fields(first, chat)
        assert "why" not in _head_fields(second, chat)

        again = chat.rerun(first)
        assert "why" in _head_fields(again, chat)


def test_another_model_has_its_reason_again() -> None:
    with ScriptedWire(["One."]) as wire:
        chat = Chat(wire=wire)
        chat.send("Go.")
        chat.model = chat.model.with_changes("practice:fast")
        turn = chat.send("Go on.")

    assert _head_fields(turn, chat)["why"] == "set by you"
