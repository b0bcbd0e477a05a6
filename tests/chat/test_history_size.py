"""What later requests repeat: exposed objects are listed once."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import get_args

import pandas as pd
import pytest

from nbtool import Chat
from nbtool.chat.prompt import HistoryMode
from nbtool.testing import ScriptedWire
from nbtool.wire.base import Prompt, Target
from nbtool.wire.registry import find_wire

MODES = get_args(HistoryMode)


def request_text(prompt: Prompt, dialect: str = "chat") -> str:
    """Return a request as its dialect sends it."""
    return json.dumps(find_wire(dialect).encode(prompt, Target("https://x.example", "m")).body, ensure_ascii=False)


@pytest.mark.parametrize("mode", MODES)
def test_exposed_objects_are_listed_once_and_later_only_what_changed(mode: HistoryMode) -> None:
    with ScriptedWire(["One."] * 6) as wire:
        chat = Chat(wire=wire, history=mode)
        chat.expose(df=pd.DataFrame({"price": [1, 2]}), other=pd.DataFrame({"weight": [1]}))
        chat.send("First")
        chat.send("Second")
        chat.expose(df=pd.DataFrame({"price": [1, 2, 3]}))
        chat.send("Third")
        chat.variables.unexpose("df")
        chat.send("Fourth")
        chat.send("Fifth")
        chat.expose(df=pd.DataFrame({"price": [1, 2, 3]}))
        chat.send("Sixth")

    new = [prompt.messages[-1].text for prompt in wire.prompts]
    if mode == "none":
        assert ["$VAR_REF{{df}}" in text for text in new] == [True, True, True, False, False, True]
        assert all("$VAR_REF{{other}}" in text and "no longer" not in text for text in new)
        return
    assert ["$VAR_REF{{df}}" in text for text in new] == [True, False, True, False, False, True]
    assert ["$VAR_REF{{other}}" in text for text in new] == [True, False, False, False, False, False]
    assert ["`df`: no longer exposed" in text for text in new] == [False, False, False, True, False, False]
    assert (new[1], new[4]) == ("Second", "Fifth")
    for earlier, later in pairwise(wire.prompts):
        assert later.messages[: len(earlier.messages)] == earlier.messages


def test_objects_of_a_turn_that_is_not_sent_are_listed_again() -> None:
    with ScriptedWire(["One."] * 4) as wire:
        chat = Chat(wire=wire)
        chat.window = 1
        chat.expose(df=pd.DataFrame({"price": [1, 2]}))
        for number in range(3):
            chat.send(f"Question {number}")
        chat.tree.active_path[-1].hidden = True
        chat.send("And?")

    for prompt in wire.prompts:
        assert sum(message.text.count("$VAR_REF{{df}}") for message in prompt.messages) == 1
