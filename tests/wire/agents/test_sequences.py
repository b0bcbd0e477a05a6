"""Whatever an agent does, in whatever order: its turn ends, each question is answered once, no denied call runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approved, Decision, Denied, Question
from nbtool.wire.agents.limits import AgentLimits
from tests.wire.agents.agents import ALWAYS, NO, YES, Scripted, is_alive, tool_call

ACT: dict[str, Any] = {"name": "act", "arguments": {"number": 1}}
OF_NOTEBOOK = {"_meta": {"claudeCode": {"mcpServer": {"name": "notebook"}}}}
STEPS: dict[str, dict[str, Any]] = {
    "text": {"say": "Text. "},
    "report": tool_call(),
    "call": {"call": ACT},
    "two calls": {"calls": [ACT, ACT]},
    "a call that is not awaited": {"begin_call": ACT},
    "a question": {"ask": {"call": {"toolCallId": "t9", **OF_NOTEBOOK}, "options": [ALWAYS, YES, NO]}},
    "a question without options": {"ask": {"call": {"toolCallId": "t9", **OF_NOTEBOOK}}},
    "a question that is cancelled": {"ask": {"call": {"toolCallId": "t9", **OF_NOTEBOOK}, "cancels": True}},
    "a question about another tool": {"ask": {"call": {"toolCallId": "t8", "title": "ls"}, "options": [YES, NO]}},
    "another tool": {"update": {"sessionUpdate": "tool_call", "toolCallId": "t7", "title": "ls", "name": "Bash"}},
    "noise": {"line": "noise"},
    "an unknown update": {"update": {"sessionUpdate": "of_tomorrow"}},
    "another mode": {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "auto"}},
    "a child": {"spawn": True},
    "an error": {"error": {"code": 1, "message": "broken"}},
    "the end": {"result": {"stopReason": "end_turn"}},
    "a crash": {"exit": 1},
}


@pytest.mark.sampled(0)
@settings(max_examples=12)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.lists(st.booleans(), max_size=6))
def test_every_sequence_ends_with_the_effects_that_were_approved(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], approves: list[bool]
) -> None:
    ran: list[int] = []
    approved: list[str] = []

    def act(number: int) -> int:
        """Act."""
        ran.append(number)
        return len(ran)

    def decide(question: Question) -> Decision:
        if approves and approves.pop():
            approved.append(question.digest)
            return Approved()
        return Denied("no")

    folder: Path = tmp_path_factory.mktemp("sequence")
    agent = Scripted(folder, {"prompts": [[STEPS[step] for step in steps]]})
    chat = Chat("acp:claude", tools=[act], approver=decide)
    use_agent(chat, AgentLimits(cancel=0.3))

    turn = chat.send("Go.")

    assert turn.status in ("completed", "error")
    assert len(ran) == len(approved)
    assert chat.approvals.pending() == ()
    answered = agent.all_of("request")
    assert len(answered) == len(set(answered))
    assert "always" not in json.dumps(agent.all_of("answer"))
    assert {call.status for call in turn.calls} <= {"ok", "denied", "not_run", "cancelled"}
    agent.change({"prompts": [[{"say": "Next."}]]})
    if host := agent_of(chat):
        run_sync(host.close())
    assert chat.send("And now?").text == "Next."
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]
    assert not any(map(is_alive, [*agent.all_of("started"), *agent.all_of("spawned")]))
