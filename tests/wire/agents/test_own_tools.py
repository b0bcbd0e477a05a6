"""What an agent does that is no call of the notebook: it ends the agent and the turn, and no question is left open."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat
from nbtool.errors import AgentStopped
from nbtool.wire.agents.limits import AgentLimits
from tests.wire.agents.agents import ALWAYS, NO, YES, MakeAgent, tool_call

OWN = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "rm -rf .", "kind": "execute", "status": "pending"}
BASH = {"_meta": {"claudeCode": {"toolName": "Bash"}}}
OF_NOTEBOOK = {"_meta": {"claudeCode": {"mcpServer": {"name": "notebook"}}}}
OF_OTHER = {"_meta": {"claudeCode": {"mcpServer": {"name": "files"}}}}
MCP_TITLE = "mcp__notebook__add"


def end_of(chat: Chat) -> tuple[str, str]:
    """The status of the next turn, and the type of its error."""
    turn = chat.send("Go.")
    return turn.status, type(turn.error).__name__


@pytest.mark.every_case
@pytest.mark.parametrize(
    "report",
    [
        {**OWN, **BASH},
        {**OWN},
        {**OWN, "title": f"echo {MCP_TITLE}; rm -rf ."},
        {**OWN, "title": MCP_TITLE, "rawInput": {"server": "notebook"}},
        {**OWN, "name": "Bash", **tool_call()["update"]["_meta"]},
        {**OWN, "name": MCP_TITLE, **BASH},
        {**OWN, "name": 3},
        {**OWN, "name": "mcp__files__read"},
        {"sessionUpdate": "tool_call", "name": MCP_TITLE},
        {"sessionUpdate": "tool_call", "name": MCP_TITLE, "toolCallId": ["t1"]},
        {"sessionUpdate": "tool_call_update", "toolCallId": "unknown", "status": "completed"},
        {"sessionUpdate": "tool_call_of_tomorrow", "toolCallId": "t1"},
        {"session": "another session", **OWN, **BASH},
    ],
)
def test_a_tool_of_its_own_ends_the_turn_and_the_agent(
    make_agent: MakeAgent, chat: Chat, report: dict[str, Any]
) -> None:
    agent = make_agent([{"say": "First "}, {"update": report}, {"wait": "cancel"}, {"say": "then this"}])

    turn = chat.send("Go.")

    assert (turn.status, type(turn.error)) == ("error", AgentStopped)
    assert turn.text == "First "
    assert len(agent.requests("session/cancel")) == 1
    assert agent_of(chat).session is None  # type: ignore[union-attr]


def test_a_call_of_the_notebook_does_not_become_one_of_another_tool(make_agent: MakeAgent, chat: Chat) -> None:
    changed = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", **BASH}
    make_agent([tool_call(), {"update": changed}, {"wait": "cancel"}])

    assert end_of(chat) == ("error", "AgentStopped")


def test_what_the_agent_tried_is_shown_with_its_change_of_a_file(make_agent: MakeAgent, chat: Chat) -> None:
    diff = {"type": "diff", "path": "/n/book.ipynb", "oldText": "a", "newText": "b"}
    edit = {
        **OWN,
        "title": "Edit book.ipynb",
        "kind": "edit",
        "content": [diff],
        "locations": [{"path": "/n/book.ipynb"}],
    }
    make_agent([{"update": {**edit, "name": "Edit"}}, {"wait": "cancel"}])

    turn = chat.send("Go.")

    (part,) = [part for message in turn.messages.chain for part in message.parts if part.kind == "provider_call"]
    assert part.was_stopped
    assert part.tool.split() == ["Edit:", "Edit", "book.ipynb", "(/n/book.ipynb)"]
    assert part.output == "--- /n/book.ipynb\n- a\n+ b"


def test_the_next_turn_goes_on_after_an_agent_was_stopped(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"update": {**OWN, **BASH}}, {"wait": "cancel"}])
    assert end_of(chat) == ("error", "AgentStopped")
    agent.change({"prompts": [[{"say": "Sorry."}]]})

    assert chat.send("Again.").text == "Sorry."


@pytest.mark.every_case
@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"])
def test_a_request_that_was_not_offered_is_refused_and_ends_the_turn(
    make_agent: MakeAgent, chat: Chat, method: str
) -> None:
    agent = make_agent([{"ask": {"method": method}}, {"wait": "cancel"}])

    assert end_of(chat) == ("error", "AgentStopped")
    assert agent.all_of("answer")[0]["code"] == -32601


def test_an_extension_of_the_agent_is_refused_and_harmless(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"ask": {"method": "_claude/notice"}}, {"say": "Fine."}])

    assert end_of(chat) == ("completed", "NoneType")
    assert agent.all_of("answer")[0]["code"] == -32601


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("call", "options", "answer"),
    [
        ({"toolCallId": "t1", **OF_NOTEBOOK}, [ALWAYS, YES, NO], {"outcome": "selected", "optionId": "yes"}),
        ({"toolCallId": "t1"}, [YES, NO], {"outcome": "selected", "optionId": "yes"}),
        ({"toolCallId": "t1", **OF_NOTEBOOK}, [ALWAYS, NO], {"outcome": "cancelled"}),
        ({"toolCallId": "t1", **OF_NOTEBOOK}, [], {"outcome": "cancelled"}),
        ({"toolCallId": "t1", **OF_NOTEBOOK}, None, {"outcome": "cancelled"}),
        ({"toolCallId": "t1", **OF_NOTEBOOK}, [{"kind": "allow_once", "optionId": 3}, "yes"], {"outcome": "cancelled"}),
    ],
)
def test_a_question_about_a_tool_of_the_notebook_is_answered_for_this_once_without_a_card(
    make_agent: MakeAgent, chat: Chat, call: dict[str, Any], options: Any, answer: dict[str, Any]
) -> None:
    agent = make_agent([tool_call(), {"ask": {"call": call, "options": options}}, {"say": "Asked."}])

    assert end_of(chat) == ("completed", "NoneType")
    assert agent.all_of("answer") == [{"outcome": answer}]
    assert chat.approvals.pending() == ()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("call", "options", "answer"),
    [
        ({"toolCallId": "t2", **OF_OTHER}, [YES, ALWAYS, NO], {"outcome": "selected", "optionId": "no"}),
        ({"toolCallId": "t2", "title": MCP_TITLE}, [YES, NO], {"outcome": "selected", "optionId": "no"}),
        ({"toolCallId": "t2"}, [YES], {"outcome": "cancelled"}),
        ({}, [YES], {"outcome": "cancelled"}),
        ({"toolCallId": "t1", "name": "Bash", **OF_NOTEBOOK}, [YES, NO], {"outcome": "selected", "optionId": "no"}),
        ({"toolCallId": "t1", "_meta": {"claudeCode": {"mcpServer": "notebook"}}}, [YES], {"outcome": "cancelled"}),
    ],
)
def test_a_question_about_another_tool_is_rejected_and_ends_the_turn(
    make_agent: MakeAgent, chat: Chat, call: dict[str, Any], options: Any, answer: dict[str, Any]
) -> None:
    agent = make_agent([tool_call(), {"ask": {"call": call, "options": options}}, {"wait": "cancel"}])

    assert end_of(chat) == ("error", "AgentStopped")
    assert agent.all_of("answer") == [{"outcome": answer}]


def test_two_questions_at_a_time_are_answered_once_each(make_agent: MakeAgent, chat: Chat) -> None:
    question = {"call": {"toolCallId": "t1", **OF_NOTEBOOK}, "options": [YES, NO], "leaves": True}
    agent = make_agent([tool_call(), {"ask": question}, {"ask": {**question, "leaves": False}}, {"say": "Asked."}])

    assert end_of(chat) == ("completed", "NoneType")
    assert agent.all_of("request") == ["q1", "q2"]


def test_a_question_that_the_agent_cancels_is_not_answered_twice(make_agent: MakeAgent, chat: Chat) -> None:
    question = {"call": {"toolCallId": "t1", **OF_NOTEBOOK}, "options": [YES, NO], "cancels": True}
    agent = make_agent([tool_call(), {"ask": question}, {"ask": {**question, "cancels": False}}, {"say": "Asked."}])

    assert end_of(chat) == ("completed", "NoneType")
    assert agent.all_of("request") == ["q1", "q2"]


@pytest.mark.parametrize("where", ["current_mode_update", "config_option_update"])
def test_another_mode_in_a_turn_ends_it(make_agent: MakeAgent, chat: Chat, where: str) -> None:
    option = {"id": "mode", "category": "mode", "currentValue": "auto"}
    update = {"sessionUpdate": where, "currentModeId": "auto", "configOptions": [option]}
    make_agent([{"say": "Hm. "}, {"update": update}, {"wait": "cancel"}])

    assert end_of(chat) == ("error", "AgentStopped")


def test_an_agent_is_put_into_the_mode_in_which_it_asks_before_it_gets_a_prompt(
    make_agent: MakeAgent, chat: Chat
) -> None:
    options = [{"id": "mode", "category": "mode", "currentValue": "default"}, {"id": "model", "currentValue": "x"}]
    said = {"update": {"sessionUpdate": "config_option_update", "configOptions": options}}
    opened = {"sessionId": "S1", "modes": {"currentModeId": "auto", "availableModes": []}}
    agent = make_agent([{"say": "Hello."}], **{"session/new": opened, "during session/set_mode": [said]})

    assert end_of(chat) == ("completed", "NoneType")
    assert agent.requests("session/set_mode") == [{"sessionId": "S1", "modeId": "default"}]


@pytest.mark.every_case
@pytest.mark.parametrize(
    "script",
    [
        {},
        {"session/set_mode": {"error": {"code": -32603, "message": "Invalid Mode"}}},
        {"during session/set_mode": [{"update": {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}}]},
        {
            "during session/set_mode": [
                {
                    "update": {
                        "sessionUpdate": "config_option_update",
                        "currentModeId": "default",
                        "configOptions": [{"id": "mode", "currentValue": "auto"}],
                    }
                }
            ]
        },
    ],
)
def test_an_agent_that_does_not_say_that_it_is_in_that_mode_gets_no_prompt(
    make_agent: MakeAgent, chat: Chat, script: dict[str, Any]
) -> None:
    use_agent(chat, AgentLimits(mode=0.2))
    agent = make_agent([], **{"session/new": {"sessionId": "S1", "modes": {"currentModeId": "auto"}}, **script})

    assert end_of(chat) == ("error", "AgentStopped")
    assert agent.prompts() == []


def test_a_tool_used_between_two_turns_ends_the_agent(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "One."}, {"result": {"stopReason": "end_turn"}}], [{"say": "Two."}])
    chat.send("First.")
    session = agent_of(chat).session  # type: ignore[union-attr]
    assert session
    session.notify("session/update", {"sessionId": "S1", "update": {**OWN, **BASH}})

    assert not session.is_open
    assert chat.send("Second.").text == "One."  # in a new process, which begins its script again
    assert len(agent.requests("session/resume")) == 1
