"""What a chat is made with and what is said to it: what makes no sense is told at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import BadUsage, UnknownModel
from nbtool.testing import ScriptedWire, call


def test_an_unknown_model_is_refused_before_anything_happens() -> None:
    chat = Chat("opnai:gpt-5-mini")

    with pytest.raises(UnknownModel, match="openai"):
        chat.send("Hello")

    assert chat.tree.active_path == ()


@pytest.mark.parametrize(
    ("odd", "actual"),
    [
        ({"history": "all"}, "history cannot be 'all'. Pass one of 'compact', 'native', 'results', 'text', 'none'."),
        ({"tool_mode": "text"}, "tool_mode cannot be 'text'. Pass one of 'auto', 'native', 'prompted'."),
        ({"model": 3}, "model cannot be 3. Pass a text or None."),
    ],
)
def test_an_argument_of_a_chat_that_makes_no_sense_is_reported_at_once(odd: dict[str, Any], actual: str) -> None:
    with pytest.raises(BadUsage, match=re.escape(actual)):
        Chat(**odd)


def test_nothing_in_the_place_of_tools_and_texts_is_nothing() -> None:
    nothing: Any = None
    chat = Chat(wire=ScriptedWire(["Hi."]), tools=nothing, system=nothing, plugins=nothing, options=nothing)

    assert chat.send("Hello").text == "Hi."


def test_a_prompt_is_a_text() -> None:
    odd: Any = ["Hello"]

    with pytest.raises(BadUsage, match=r"prompt cannot be a list\. Pass a text or a Message\."):
        Chat(wire=ScriptedWire([])).send(odd)


def test_an_empty_prompt_is_not_sent() -> None:
    with pytest.raises(BadUsage, match="empty"):
        Chat(wire=ScriptedWire([])).send("  \n")


def test_send_from_an_asynchronous_tool_says_what_to_do() -> None:
    @tool(run="auto")
    async def nested() -> str:
        "Ask again."
        return Chat(wire=ScriptedWire([])).send("Hello").text

    with ScriptedWire([call("nested"), "ok"]) as wire:
        turn = Chat(wire=wire, tools=[nested]).send("Go")

    assert turn.calls[0].status == "error"
    assert "await chat.start" in turn.calls[0].shown


def test_a_key_is_in_no_repr() -> None:
    chat = Chat("openai:gpt-5-mini", api_key="sk-verysecret")

    assert "verysecret" not in repr(vars(chat)) + repr(chat.model) + repr(chat.model.endpoint())
