"""The cells that pages put below, for a person to run."""

from __future__ import annotations

import shlex

import pytest

from nbtool.chat.chat import Chat
from nbtool.magics.deeds import about, of_chat, said_again
from nbtool.testing import ScriptedWire


@pytest.mark.parametrize(("name", "flag"), [("main", ""), ("notes", " -c notes"), ("two words", " -c 'two words'")])
def test_a_cell_says_which_conversation_it_is_about(name: str, flag: str) -> None:
    assert of_chat(name) == flag


def test_each_deed_is_the_cell_that_a_person_would_write() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Say hello.\nBriefly.")

    assert said_again("rerun", turn, chat="main") == f"%%chat --rerun {turn.turn_id}"
    assert said_again("rerun", turn, chat="main", from_round=2) == f"%%chat --rerun {turn.turn_id} --from 2"
    assert said_again("resume", turn, chat="main", from_round=2) == f"%%chat --resume {turn.turn_id}"
    assert said_again("edit", turn, chat="a b") == f"%%chat -c 'a b' --edit {turn.turn_id}\nSay hello.\nBriefly."
    assert shlex.split(about("switch", turn, chat="a b")) == ["%chat", "-c", "a b", "switch", turn.turn_id]


def test_nothing_hides_in_a_prompt_that_is_written_into_a_cell() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("abc\u202edef")

    assert said_again("edit", turn, chat="main").endswith("abc\\u{202e}def")
