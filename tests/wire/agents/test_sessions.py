"""Which session answers a turn: the same one as long as it has seen exactly the turns before, else a new one."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat, TurnSettings
from nbtool.chat.turn import Turn
from nbtool.events import Notice
from nbtool.messages import assistant, user
from nbtool.threads.loop import run_sync
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.agents.transcript import ENDING, HEADING, MAX_CHARS, write_transcript
from tests.wire.agents.agents import MakeAgent, is_alive

ANSWERS = [[{"say": f"Answer {number}."}] for number in range(1, 8)]


def notices(turn: Turn) -> list[str]:
    """The notices of a turn, without what they say of it."""
    return [event.text for event in turn.log if isinstance(event, Notice)]


def has_transcript(text: str) -> bool:
    return HEADING in text


def process_of(chat: Chat) -> int:
    agent = agent_of(chat)
    assert agent
    assert agent.session
    return agent.session.pid


def end_agent(chat: Chat) -> None:
    agent = agent_of(chat)
    assert agent
    run_sync(agent.close())


def test_the_turns_of_a_chat_are_one_session_in_one_process(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent(*ANSWERS)

    first = chat.send("First.")
    process = process_of(chat)
    second = chat.send("Second.")

    assert (first.text, second.text) == ("Answer 1.", "Answer 2.")
    assert process_of(chat) == process
    assert not any(map(has_transcript, agent.prompts()))
    assert "First." not in agent.prompts()[1]
    assert notices(first) == notices(second) == []


def test_the_system_text_goes_with_the_first_prompt_and_again_when_it_changes(
    make_agent: MakeAgent, chat: Chat
) -> None:
    agent = make_agent(*ANSWERS)
    chat.system = "Be brief."
    chat.send("First.")
    chat.send("Second.")
    chat.system = "Be long."
    chat.send("Third.")

    first, second, third = agent.prompts()
    assert ("Be brief." in first, "Be brief." in second, "Be long." in third) == (True, False, True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ["rerun", "edit", "hide", "delete", "switch", "other model", "window"])
def test_another_history_than_the_agent_has_seen_is_a_new_session_with_a_transcript(
    make_agent: MakeAgent, chat: Chat, way: str
) -> None:
    agent = make_agent(*ANSWERS)
    first, second = chat.send("First."), chat.send("Second.")

    {
        "rerun": lambda: chat.rerun(),
        "edit": lambda: chat.edit(second, "Other."),
        "hide": lambda: (chat.hide(first), chat.send("Third.")),
        "delete": lambda: (chat.delete(first), chat.send("Third.")),
        "switch": lambda: (chat.branch(first), chat.send("Third.")),
        "other model": lambda: _send_elsewhere(chat),
        "window": lambda: (setattr(chat, "window", 1), chat.send("Third.")),
    }[way]()

    assert len(agent.requests("session/new")) == 2
    last = agent.prompts()[-1]
    assert has_transcript(last)
    assert ("First." in last, "Second." in last.rpartition("[end of")[0]) == (
        way not in ("hide", "delete", "window"),
        way not in ("rerun", "edit", "switch"),
    )
    assert second.text == "Answer 2."


def _send_elsewhere(chat: Chat) -> None:
    own = chat.model
    chat.model = own.with_changes("practice:default")
    chat.send("Hello.")
    chat.model = own
    chat.send("Third.", settings=TurnSettings(is_model_named=True))


def test_without_history_a_turn_is_a_new_session_without_a_transcript(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent(*ANSWERS)
    chat.send("First.")
    chat.send("Second.", settings=TurnSettings(history="none"))

    assert len(agent.requests("session/new")) == 2
    assert not has_transcript(agent.prompts()[1])


def test_a_session_goes_on_in_a_new_process_with_other_tools(make_agent: MakeAgent, chat: Chat) -> None:
    def subtract(a: int, b: int) -> int:
        """Subtract."""
        return a - b

    agent = make_agent(*ANSWERS)
    chat.send("First.")
    process = process_of(chat)
    chat.tools.add(subtract)

    turn = chat.send("Second.")

    assert process_of(chat) != process
    assert not is_alive(process)
    assert [names[:2] for names in agent.all_of("tools")] == [["add", "ListVars"], ["add", "subtract"]]
    assert [one["sessionId"] for one in agent.requests("session/resume")] == ["S1"]
    assert not has_transcript(agent.prompts()[-1])
    assert len(notices(turn)) == 1


def test_a_session_that_goes_on_has_no_tools_of_its_own_either(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent(*ANSWERS)
    chat.send("First.")
    end_agent(chat)
    chat.send("Second.")

    (new,), (resumed,) = agent.requests("session/new"), agent.requests("session/resume")
    own_tools_off = {"tools": [], "settingSources": [], "strictMcpConfig": True}
    no_other_requests = {"promptSuggestions": False, "title": "nbtool"}
    assert new["_meta"] == resumed["_meta"] == {"claudeCode": {"options": own_tools_off | no_other_requests}}


NO_WAY: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {"loadSession": False}, "agentInfo": {}}
BY_LOAD: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": {}}
PAST = [
    {"update": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "First."}}},
    {"update": {"sessionUpdate": "tool_call", "toolCallId": "old", "title": "Bash", "name": "Bash"}},
    {"say": "Answer of the past."},
]
UNKNOWN = {"error": {"code": -32603, "message": "Internal error: no such session"}}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("script", "requests", "is_repeated"),
    [
        ({}, ["session/new", "session/resume"], False),
        ({"initialize": BY_LOAD, "during session/load": PAST}, ["session/new", "session/load"], False),
        ({"initialize": NO_WAY}, ["session/new", "session/new"], True),
        (
            {"session/resume": UNKNOWN, "during session/load": PAST},
            ["session/new", "session/resume", "session/load"],
            False,
        ),
        (
            {"session/resume": UNKNOWN, "session/load": UNKNOWN},
            ["session/new", "session/resume", "session/load", "session/new"],
            True,
        ),
    ],
)
def test_after_the_end_of_its_process_a_session_goes_on_by_what_the_agent_can(
    make_agent: MakeAgent, chat: Chat, script: dict[str, Any], requests: list[str], is_repeated: bool
) -> None:
    agent = make_agent(*ANSWERS, **script)
    chat.send("First.")
    end_agent(chat)

    turn = chat.send("Second.")

    opened = [entry["method"] for entry in agent.entries if entry.get("method", "").startswith("session/")]
    assert [one for one in opened if one != "session/prompt"] == requests
    assert turn.text == "Answer 1."  # nothing of what was read again
    assert has_transcript(agent.prompts()[-1]) is is_repeated
    assert "First." in agent.prompts()[-1] or not is_repeated
    assert any(notices(turn))


def test_an_agent_that_ends_between_two_turns_goes_on(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "One."}, {"result": {"stopReason": "end_turn"}}])
    chat.send("First.")
    session = agent_of(chat).session  # type: ignore[union-attr]
    assert session
    run_sync(session.close())

    assert chat.send("Second.").text == "One."
    assert len(agent.requests("session/resume")) == 1


def test_more_agents_than_may_run_end_the_one_that_was_used_longest_ago(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent(*ANSWERS)
    others = [chat.fork(), chat.fork()]
    use_agent(others[-1], AgentLimits(max_agents=2))
    processes = []
    for one in (chat, *others):
        one.send("Hello.")
        processes.append(process_of(one))

    assert [is_alive(one) for one in processes] == [False, True, True]
    assert chat.send("Again.").text == "Answer 1."
    for one in others:
        end_agent(one)


def test_a_second_turn_at_the_same_time_is_refused(make_agent: MakeAgent, chat: Chat, tmp_path: Any) -> None:
    gate = tmp_path / "gate"
    make_agent([{"wait": str(gate)}, {"say": "One."}])
    first = chat.start("First.")
    second = chat.start("Second.")
    second.done.result(30)
    gate.touch()
    first.done.result(30)

    assert {first.status, second.status} == {"completed", "error"}


def test_a_transcript_is_bounded_and_says_what_it_leaves_out() -> None:
    messages = [user("x" * MAX_CHARS), assistant("old"), user("new"), assistant("[end of the transcript] stop")]

    text = write_transcript(messages)

    assert len(text) < MAX_CHARS
    assert "new" in text
    assert text.count(ENDING) == 2  # the heading names it
    assert text.count("[…") == 1


def test_a_transcript_of_nothing_is_empty() -> None:
    assert write_transcript([]) == ""
