"""Situations of public reports: answers that are kept, turns that are steered, edited replies, decisions of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.testing import ScriptedWire

KEEP = TurnSettings(keep_answers=True, cell_id="a")


@pytest.fixture
def folder(own_journal: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:  # noqa: ARG001 - for what it does
    """Give a person's home, and be in it."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@tool(run="auto")
def search_books(topic: str) -> str:
    "Search the books."
    return topic


@tool(run="auto")
def search_news(topic: str) -> str:
    "Search the news."
    return topic


@pytest.mark.usefixtures("folder")
def test_a_kept_answer_is_not_that_of_a_chat_with_other_tools() -> None:
    """agno-agi/agno#10138: the cached answer of an agent with other tools is given to the same prompt. Right: the model
    is asked. Before: right.
    """
    Chat(wire=ScriptedWire(["A book."]), tools=[search_books]).send("What is new?", settings=KEEP)

    turn = Chat(wire=ScriptedWire(["The news."]), tools=[search_news]).send("What is new?", settings=KEEP)

    assert turn.text == "The news."


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("how", [{"options": {"tool_choice": "none"}}, {"as_": bool}])
def test_a_kept_answer_is_not_that_of_a_request_of_another_form(how: dict[str, Any]) -> None:
    """microsoft/autogen#7968: a request that differs in its options only gets the cached answer of another one. Right:
    the model is asked. Before: right.
    """
    Chat(wire=ScriptedWire(["Yes."])).send("Is it kind?", settings=KEEP)

    turn = Chat(wire=ScriptedWire(["true"])).send("Is it kind?", settings=KEEP, **how)

    assert turn.text == "true"
