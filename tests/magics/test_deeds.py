"""The cells that pages put below, for a person to run."""

from __future__ import annotations

import shlex

import pytest

from nbtool.chat.chat import Chat
from nbtool.magics.deeds import Cells
from nbtool.testing import ScriptedWire


@pytest.mark.parametrize(("name", "flag"), [("main", ""), ("notes", " -c notes"), ("two words", " -c 'two words'")])
def test_a_cell_says_which_conversation_it_is_about(name: str, flag: str) -> None:
    assert Cells(name).line() == f"%chat{flag}"
    assert Cells(name, "nbchat").cell_magic == f"%%nbchat{flag}"


def test_each_deed_is_the_cell_that_a_person_would_write() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Say hello.\nBriefly.")
    cells, others = Cells(), Cells("a b")

    assert cells.said_again("rerun", turn) == f"%%chat --rerun {turn.turn_id}"
    assert cells.said_again("rerun", turn, from_round=2) == f"%%chat --rerun {turn.turn_id} --from 2"
    assert cells.said_again("resume", turn, from_round=2) == f"%%chat --resume {turn.turn_id}"
    assert others.said_again("edit", turn) == f"%%chat -c 'a b' --edit {turn.turn_id}\nSay hello.\nBriefly."
    assert shlex.split(others.about("switch", turn)) == ["%chat", "-c", "a b", "switch", turn.turn_id]


def test_nothing_hides_in_a_prompt_that_is_written_into_a_cell() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("abc\u202edef")

    assert Cells().said_again("edit", turn).endswith("abc\\u{202e}def")
