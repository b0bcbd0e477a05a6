"""What later requests repeat: exposed objects are listed once, and the compact form is never the longer one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import get_args

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.chat.prompt_context import HistoryMode, history_messages
from nbtool.testing import ScriptedWire, call
from nbtool.tools.values.sanitize import masking
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


@pytest.mark.sampled(0)
@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=4),
    argument=st.sampled_from(["", "x", 'a"b\n', "x" * 300]),
    letter=st.sampled_from(["x", '"', "\n", "é", "`"]),
    is_parallel=st.booleans(),
)
def test_the_compact_form_is_never_longer_than_the_messages_themselves(
    sizes: list[int], argument: str, letter: str, is_parallel: bool
) -> None:
    results: Iterator[str] = iter(())

    @tool(run="auto")
    def read(what: str) -> str:
        "Read a text."
        return f"{what}{next(results)}"

    rounds: list[object] = [call("read", what=f"{argument}{number}") for number, _ in enumerate(sizes)]
    script = [rounds, "Read."] if is_parallel else [*rounds, "Read."]
    requests: dict[str, list[Prompt]] = {}
    for mode in ("compact", "native"):
        results = iter([letter * size for size in sizes])
        with ScriptedWire([*script, "And now?"]) as wire:
            chat = Chat(wire=wire, tools=[read], history=mode)
            chat.send("Read it.")
            chat.send("And?")
        requests[mode] = wire.prompts

    for dialect in ("chat", "responses", "anthropic", "gemini"):
        compact, native = (len(request_text(requests[mode][-1], dialect)) for mode in ("compact", "native"))
        assert compact <= native


def test_a_turn_that_has_ended_is_the_same_messages_in_each_later_request() -> None:
    steps = [call("price", ticker="A"), "It costs 10.", "Two.", "Three."]
    chat = Chat(wire=(wire := ScriptedWire(steps)), tools=[tool(lambda ticker: len(ticker), name="price", run="auto")])
    for prompt in ("What is it?", "And?", "So?"):
        chat.send(prompt)

    second, third = (prompt.messages for prompt in wire.prompts[2:])
    assert len(second) > 1
    assert all(earlier is later for earlier, later in zip(second[:-1], third, strict=False))


def test_what_is_masked_is_not_what_an_unmasked_turn_sends() -> None:
    class Masking:
        def mask_text(self, text: str) -> str:
            return text.replace("Ada", "#")

        def restore_text(self, text: str) -> str:
            return text.replace("#", "Ada")

    read = tool(lambda: "x" * 198 + "Ada", name="read", run="auto")
    chat = Chat(wire=ScriptedWire([call("read"), "Read."]), tools=[read])
    turn = chat.send("Read it.")
    plain = history_messages(turn, "compact", always_compact=True)
    with masking([Masking()]):
        masked = history_messages(turn, "compact", always_compact=True)

    assert "xxAd" in plain[-1].text
    assert "xxAd" not in masked[-1].text.replace("xxAda", "")
    assert history_messages(turn, "compact", always_compact=True) is plain
