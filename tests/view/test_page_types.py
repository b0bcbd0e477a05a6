"""The page's types of messages are those of Python; `NBTOOL_RECORD=1` writes them again."""

from __future__ import annotations

import os
import types
from pathlib import Path

import pytest

from nbtool.blocks import map_protocol
from nbtool.blocks import protocol as document
from nbtool.blocks.history import protocol as history
from nbtool.blocks.render import whole_conversation
from nbtool.events import calls, turn
from nbtool.view import actions, map_messages, message_fields, notebook_messages, saved_turn_messages
from nbtool.view import protocol as messages
from tests.view.page_types import page_types

FILE = Path(__file__).parents[2] / "js" / "src" / "generated.ts"
IS_RECORDING = bool(os.environ.get("NBTOOL_RECORD"))  # read now: each test has an environment of its own
MODULES = [
    turn,
    calls,
    document,
    history,
    whole_conversation,
    message_fields,
    actions,
    messages,
    saved_turn_messages,
    notebook_messages,
    map_protocol,
    map_messages,
]
USED_OF_EVENTS = {turn: {"EndReason", "TurnStatus"}, calls: {"CallStatus", "Gate"}}


def test_the_page_has_the_types_of_python() -> None:
    source = page_types(MODULES, only=USED_OF_EVENTS)
    if IS_RECORDING:
        FILE.write_text(source, encoding="utf-8")

    assert FILE.read_text(encoding="utf-8") == source


def test_no_type_of_the_page_is_defined_twice() -> None:
    names = [line.split()[2] for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("export ")]

    assert len(names) == len(set(names)) > 50


@pytest.mark.parametrize("annotation", ["set[str]", "Callable[[], None]", "'Later'"])
def test_a_type_that_the_page_cannot_have_is_refused(annotation: str, tmp_path: Path) -> None:
    (tmp_path / "odd_protocol.py").write_text(
        f"from typing import TypedDict\nclass Odd(TypedDict):\n    key: {annotation}\n", encoding="utf-8"
    )
    module = types.ModuleType("odd_protocol")
    module.__file__ = str(tmp_path / "odd_protocol.py")

    with pytest.raises((TypeError, KeyError)):
        page_types([module], only={})
