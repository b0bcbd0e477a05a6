"""The cells that pages put below, for a person to run."""

from __future__ import annotations

import re
import shlex

import pytest

from nbtool.blocks.protocol_schema import ID_PATTERN
from nbtool.chat.chat import Chat
from nbtool.chat.conversation.restore import restore_tree
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TurnStarted
from nbtool.ids import short_id
from nbtool.magics.flags.flag_parser import parse
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.magics.notebook.inserted_cell import CellSource, model_option
from nbtool.messages import user
from nbtool.testing import ScriptedWire
from nbtool.view.actions import ACTIONS
from nbtool.view.saved_turn_messages import parse_request


@pytest.mark.parametrize(("name", "flag"), [("main", ""), ("notes", " -c notes"), ("two words", " -c 'two words'")])
def test_a_cell_says_which_conversation_it_is_about(name: str, flag: str) -> None:
    assert CellSource(name).line() == f"%chat{flag}"
    assert CellSource(name, "nbchat").cell_magic == f"%%nbchat{flag}"


def test_each_action_is_the_cell_that_a_person_would_write() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Say hello.\nBriefly.")
    cells, others, id_ = CellSource(), CellSource("a b"), short_id(turn.turn_id)

    assert cells.action("rerun", turn) == f"%%chat --rerun {id_}"
    assert cells.action("rerun_from", turn, round=2) == f"%%chat --rerun {id_}:2"
    assert cells.action("resume", turn) == f"%%chat --rerun {id_}:resume"
    assert others.action("edit", turn) == f"%%chat -c 'a b' --edit {id_}\nSay hello.\nBriefly."
    assert shlex.split(others.action("switch", turn)) == ["%chat", "-c", "a b", "branch", id_, "--switch"]


def test_nothing_hides_in_a_prompt_that_is_written_into_a_cell() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("abc\u202edef")

    assert CellSource().action("edit", turn).endswith("abc\\u{202e}def")


WORDS = {"round": 2, "reference": "price_1", "other": "turn_2"}
ON_A_TURN = [action for action, row in ACTIONS.items() if "{turn}" in row.cell]

SECOND_LINES = ["x\n%run evil.py", "x\r!touch evil", "x\u2028%run evil.py", "x\0y", "x\x1b[2J"]


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("forged", SECOND_LINES)
def test_no_id_and_no_name_of_a_forged_history_begins_a_second_line(forged: str) -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Hello.")
    turn.turn_id = forged

    for action in ON_A_TURN:
        with pytest.raises(BadUsage, match="one line"):
            CellSource().action(action, turn, **WORDS)
    with pytest.raises(BadUsage, match="one line"):
        CellSource().line(f"bind {shlex.quote(forged)}")
    with pytest.raises(BadUsage, match="one line"):
        CellSource(forged).line("explore")


FLAGS = ["-q", "--approve", "--approve=auto", "-", "--", "-v x", "a b", "", "x" * 65, "é"]


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("forged", FLAGS)
def test_an_id_of_a_forged_turn_is_no_flag_of_a_cell(forged: str) -> None:
    turn = Turn(user("Hi"), "practice:fast", turn_id=forged)

    for action in ON_A_TURN:
        with pytest.raises(BadUsage, match="is not an id"):
            CellSource().action(action, turn, **WORDS)


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("forged", FLAGS)
def test_a_turn_with_such_an_id_is_not_restored_and_not_answered(forged: str) -> None:
    started = TurnStarted(forged, "practice:fast", user("Hi"), 1.0, "", "n_1")
    good = TurnStarted("turn_1", "practice:fast", user("Hi"), 1.0, "", "n_2")

    tree = restore_tree([(forged, started), ("turn_1", good)])

    assert [version.turn_id for node in tree.nodes() for version in node.versions] == ["turn_1"]
    for content in (
        {"v": 1, "kind": "undo", "chat": "main", "turn": forged},
        {"v": 1, "kind": "models", "chat": "main", "turn": forged, "action": "edit"},
        {"v": 1, "kind": "version", "chat": "main", "turn": "turn_1", "other": forged},
    ):
        assert parse_request(content) is None
    assert not re.fullmatch(ID_PATTERN, forged) or not forged


@pytest.mark.parametrize("name", ["--approve=auto", "-q", "openai:m", "a b", "'; x"])
def test_a_name_of_a_model_is_one_value_whatever_it_begins_with(name: str) -> None:
    flags = parse(cell_parser(), f"-q {model_option(name)}")

    assert (flags.model, flags.approve) == (name, None)


def test_a_chat_whose_name_reads_like_a_flag_is_named_in_no_cell() -> None:
    with pytest.raises(BadUsage, match="reads like a flag"):
        CellSource("--approve=auto").line("history")
