"""The cells that pages put below, for a person to run."""

from __future__ import annotations

import shlex
from typing import get_args

import pytest

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.notebook.inserted_cell import CellSource, RerunKind
from nbtool.testing import ScriptedWire


@pytest.mark.parametrize(("name", "flag"), [("main", ""), ("notes", " -c notes"), ("two words", " -c 'two words'")])
def test_a_cell_says_which_conversation_it_is_about(name: str, flag: str) -> None:
    assert CellSource(name).line() == f"%chat{flag}"
    assert CellSource(name, "nbchat").cell_magic == f"%%nbchat{flag}"


def test_each_action_is_the_cell_that_a_person_would_write() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Say hello.\nBriefly.")
    cells, others, id_ = CellSource(), CellSource("a b"), short_id(turn.turn_id)

    assert cells.rerun_cell("rerun", turn) == f"%%chat --rerun {id_}"
    assert cells.rerun_cell("rerun", turn, from_round=2) == f"%%chat --rerun {id_} --from 2"
    assert cells.rerun_cell("resume", turn, from_round=2) == f"%%chat --resume {id_}"
    assert others.rerun_cell("edit", turn) == f"%%chat -c 'a b' --edit {id_}\nSay hello.\nBriefly."
    assert shlex.split(others.turn_command("switch", turn)) == ["%chat", "-c", "a b", "switch", id_]


def test_nothing_hides_in_a_prompt_that_is_written_into_a_cell() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("abc\u202edef")

    assert CellSource().rerun_cell("edit", turn).endswith("abc\\u{202e}def")


SECOND_LINES = ["x\n%run evil.py", "x\r!touch evil", "x\u2028%run evil.py", "x\0y", "x\x1b[2J"]


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("forged", SECOND_LINES)
def test_no_id_and_no_name_of_a_forged_history_begins_a_second_line(forged: str) -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Hello.")
    turn.turn_id = forged

    for action in get_args(RerunKind):
        with pytest.raises(BadUsage, match="one line"):
            CellSource().rerun_cell(action, turn)
    with pytest.raises(BadUsage, match="one line"):
        CellSource().turn_command("code", turn)
    with pytest.raises(BadUsage, match="one line"):
        CellSource().line(f"bind {shlex.quote(forged)}")
    with pytest.raises(BadUsage, match="one line"):
        CellSource(forged).line("explore")
