"""Thinking of Claude goes back only while everything before it is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from tests.chaos import ChaosServer, serve_each
from tests.chat.test_wires import anthropic_rounds, double
from tests.wire.process_state import clear_adaptations


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Return a function that makes a loopback server the own host of Anthropic."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    clear_adaptations()

    def configure(server: ChaosServer) -> None:
        (tmp_path / "providers.toml").write_text(f'[anthropic]\nbase_url = "{server.url}"\n')

    yield configure
    clear_adaptations()


@tool(run="auto")
def triple(n: int) -> int:
    "Three times a number."
    return 3 * n


def change_nothing(chat: Chat) -> None:
    pass


def change_the_system_text(chat: Chat) -> None:
    chat.system = "Be brief."


def change_the_tools(chat: Chat) -> None:
    chat.tools.add(triple)


@pytest.mark.parametrize(
    ("change", "goes_back"),
    [(change_nothing, True), (change_the_system_text, False), (change_the_tools, False)],
)
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-8"])
def test_thinking_goes_back_only_after_an_unchanged_prefix(
    model: str, change: Any, goes_back: bool, own_host: Any
) -> None:
    call, answer = anthropic_rounds()
    with serve_each(call, answer, answer) as server:
        own_host(server)
        chat = Chat(f"anthropic:{model}", tools=[double], history="native")
        chat.send("Double 21.")
        change(chat)
        turn = chat.send("Again?")

    bodies = [request.json for request in server.requests]
    assert turn.status == "completed"
    assert "signed" in str(bodies[1]["messages"])  # within a turn nothing before it changes
    assert ("signed" in str(bodies[2]["messages"])) is (goes_back or model == "claude-opus-4-8")
    assert "c1" in str(bodies[2]["messages"])
