"""What is read where an agent answers: what it is, what it may do, why it is refused, why it was stopped."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat
from nbtool.errors import NbtoolError
from nbtool.events import Notice
from nbtool.messages import ToolCall, ToolResult, assistant, results, user
from nbtool.settings import data_dir
from nbtool.threads.loop import run_sync
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.agents.transcript import write_transcript
from tests.wire.agents.agents import CALL, Scripted
from tests.words.conftest import Page

pytestmark = pytest.mark.usefixtures("own_journal")

BASH = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "title": "rm -rf .", "name": "Bash"}
SAY = [{"say": "Hello."}]


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[Any]:
    """Give a function that sends a prompt to an agent with a script, and returns what is read of it."""
    chats: list[Chat] = []

    def send(*steps: dict[str, Any], limits: AgentLimits | None = None, **script: Any) -> str:
        agent = Scripted(tmp_path, {"prompts": [list(steps)], **script})
        chat = Chat("acp:claude")
        chats.append(chat)
        use_agent(chat, limits)
        try:
            turn = chat.send("Hello.")
        except NbtoolError as error:
            return masked(str(error), agent)
        notices = [f"({event.text})" for event in turn.log if isinstance(event, Notice)]
        return masked("\n".join(filter(None, [*notices, str(turn.error or turn.text)])), agent)

    yield send
    for chat in chats:
        if agent := agent_of(chat):
            run_sync(agent.close())


def masked(text: str, agent: Scripted) -> str:
    """Return a text without the folders of a test."""
    text = text.replace(sys.executable, "PYTHON").replace(str(agent.log.parent), "FOLDER")
    return text.replace(str(data_dir()), "HOME")


def test_why_an_agent_was_stopped(texts: Any, snapshot: SnapshotAssertion) -> None:
    fast = AgentLimits(mode=0.1, start=5.0)
    auto = {"sessionId": "S", "modes": {"currentModeId": "auto"}}
    changed = {"sessionUpdate": "current_mode_update", "currentModeId": "bypassPermissions"}
    call = {
        "toolCallId": "t",
        "title": "Write a.txt",
        "kind": "edit",
        "_meta": {"claudeCode": {"mcpServer": {"name": "x"}}},
    }
    assert {
        "another tool": texts({"update": BASH}, {"wait": "cancel"}),
        "a question about another tool": texts({"ask": {"call": call}}, {"wait": "cancel"}),
        "a request for a file": texts({"ask": {"method": "fs/write_text_file"}}, {"wait": "cancel"}),
        "another mode": texts({"update": changed}, {"wait": "cancel"}),
        "no mode": texts(limits=fast, **{"session/new": auto}),
        "its own end": texts({"result": {"stopReason": "cancelled"}}),
        "a crash": texts({"stderr": "TypeError: undefined\n"}, {"exit": 1}),
        "a long line": texts({"long": 5_000_000}, {"wait": "cancel"}),
        "an error": texts({"error": {"code": -32603, "message": "Internal error: the model is busy"}}),
        "a login": texts(**{"session/new": {"error": {"code": -32000, "message": "Authentication required"}}}),
        "another protocol": texts(initialize={"protocolVersion": 2}),
    } == snapshot


def test_the_notices_of_a_session(texts: Any, snapshot: SnapshotAssertion) -> None:
    newer = {
        "protocolVersion": 1, "agentInfo": {"name": "@agentclientprotocol/claude-agent-acp", "version": "0.200.0"},
        "agentCapabilities": {},
    }  # fmt: skip
    assert {"another version": texts(*SAY, initialize=newer), "the tried version": texts(*SAY)} == snapshot


def test_the_transcript(snapshot: SnapshotAssertion) -> None:
    call = ToolCall("mean_mass", '{"table": "$VAR_REF{{penguins}}"}', "1")
    messages = [
        user("How heavy are they?"), assistant("Let me see.", call), results(ToolResult("mean_mass", "4.0", "1")),
        assistant("Four."),
    ]  # fmt: skip
    assert {"a conversation": write_transcript(messages)} == snapshot


def test_the_commands_and_refusals(page: Page, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    agent = Scripted(tmp_path, {"prompts": [[CALL and {"say": "Hello."}]]})
    page.run("%chat models acp")
    page.run("%%chat -m acp:codex\nHello.")
    page.run("%%chat -m acp:claude+tools\nHello.")
    page.run("%%chat -m acp:cloud\nHello.")
    page.run("%%chat -m acp:claude --approve later\nHello.")
    page.run("%%chat -m acp:claude --option temperature=0\nHello.")
    page.run("%%chat -m acp:claude --dry-run\nHello.")
    page.run_unseen("%%chat -m acp:claude\nHello.")
    page.run("%%chat --rerun :resume\n")
    status = page.run_unseen("%chat status")
    page.texts["%chat status, in part"] = status[status.index("model ") : status.index("tools ")]
    (data_dir() / "agents.toml").write_text('[claude]\ncommand = "/nowhere/claude-agent-acp"\n')
    page.run("%chat models acp", "%chat models acp, without the command")
    assert {title: masked(re.sub(r"\d+\.\d s", "N s", text), agent) for title, text in page.texts.items()} == snapshot
