from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.testing import ScriptedWire

TYPES = """
from dataclasses import dataclass
import datetime as dt

@dataclass
class Fruit:
    name: str
    grams: int
"""


@pytest.fixture
def shell_with_types(shell: Any) -> Any:
    """Give a shell that knows some types."""
    assert shell.run_cell(TYPES).success
    return shell


def answer(shell: Any, flags: str, *replies: Any) -> bool:
    """Run a cell whose model gives these replies; says whether the cell succeeded."""
    with ScriptedWire(replies) as wire:
        shell.magics_manager.registry["ChatMagics"].chats["main"] = Chat(wire=wire, notebook=shell.user_ns)
        return bool(shell.run_cell(f"%%chat {flags}\nWhich fruit?").success)


@pytest.mark.parametrize(
    ("type_", "said", "value"),
    [
        ("Fruit", {"name": "fig", "grams": 50}, "Fruit(name='fig', grams=50)"),
        ("list[Fruit]", {"value": [{"name": "fig", "grams": 50}]}, "[Fruit(name='fig', grams=50)]"),
        ("'dict[str, int]'", {"fig": 50}, "{'fig': 50}"),
        ("'Fruit | None'", {"value": None}, "None"),
        ("dt.date", {"value": "2026-11-22"}, "datetime.date(2026, 11, 22)"),
    ],
)
def test_the_answer_is_read_as_a_type_and_bound(shell_with_types: Any, type_: str, said: Any, value: str) -> None:
    assert answer(shell_with_types, f"--as {type_} -o fruit", json.dumps(said))

    assert repr(shell_with_types.user_ns["fruit"]) == value


def test_without_a_type_the_turn_is_bound(shell_with_types: Any) -> None:
    assert answer(shell_with_types, "-o fruit", "A fig.")

    assert isinstance(shell_with_types.user_ns["fruit"], Turn)


def test_where_no_answer_fits_nothing_is_bound_that_could_be_taken_for_one(shell_with_types: Any) -> None:
    shell_with_types.user_ns["fruit"] = "from before"

    assert not answer(shell_with_types, "--as Fruit --set replace_names=true -o fruit", "A fig.", "A fig!", "Fig.")

    assert shell_with_types.user_ns["fruit"] is None


@pytest.mark.parametrize(
    ("type_", "complaint"),
    [
        ("Frut", "There is no type called 'Frut' in this notebook. Did you mean Fruit?"),
        ("list[", "--as 'list[' is not a type"),
        ("Fruit()", "--as takes a type, not 'Fruit()'."),
        ("Fruit.pip", "--as 'Fruit.pip' is not a type"),
        ("print", "An answer cannot be read as <built-in function print>"),
    ],
)
def test_what_is_no_type_is_refused_in_one_line_and_nothing_is_sent(
    shell_with_types: Any, capsys: pytest.CaptureFixture[str], type_: str, complaint: str
) -> None:
    capsys.readouterr()

    assert not answer(shell_with_types, f"--as '{type_}' -o fruit")
    said = capsys.readouterr()
    assert complaint in said.out + said.err
    assert "Traceback" not in said.out + said.err


def test_a_dry_run_shows_the_schema(shell_with_types: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert shell_with_types.run_cell("%%chat -m practice:fast --as Fruit --dry-run\nWhich fruit?").success
    assert "grams" in capsys.readouterr().out
