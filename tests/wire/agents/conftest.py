from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of
from nbtool.chat.chat import Chat
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approved, Decision, Question
from tests.wire.agents.agents import MakeAgent, Scripted


@pytest.fixture
def make_agent(tmp_path: Path) -> MakeAgent:
    """Make the agent of a test, which answers prompts with these steps."""

    def make(*prompts: list[dict[str, Any]], **script: Any) -> Scripted:
        return Scripted(tmp_path, {"prompts": prompts, **script})

    return make


@pytest.fixture
def questions() -> list[Question]:
    """The questions that were asked."""
    return []


@pytest.fixture
def chat(questions: list[Question]) -> Iterator[Chat]:
    """A chat with an agent, and a tool `add`, whose calls are approved; its agent is ended with the test."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def approve(question: Question) -> Decision:
        questions.append(question)
        return Approved()

    one = Chat("acp:claude", tools=[add], approver=approve)
    yield one
    if agent := agent_of(one):
        run_sync(agent.close())
