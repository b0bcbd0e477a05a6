"""Situations of public reports about agents of the Agent Client Protocol and their clients, as they are here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import AgentStopped, AuthenticationFailed
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approved, Question, Undecided
from nbtool.wire.agents.limits import AgentLimits
from tests.wire.agents.agents import ALWAYS, NO, YES, Scripted, is_alive, tool_call

SECONDS = 30.0
OF_NOTEBOOK = {"toolCallId": "t1", "_meta": {"claudeCode": {"mcpServer": {"name": "notebook"}}}}
ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}

Start = Callable[..., Scripted]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Give a function that says what the agent does at each prompt."""
    return lambda *prompts, **script: Scripted(tmp_path, {"prompts": prompts, **script})


@pytest.fixture
def chat() -> Iterator[Chat]:
    """Give a chat with an agent and a tool, whose calls are approved."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    one = Chat("acp:claude", tools=[add], approver=lambda _: Approved())
    yield one
    if agent := agent_of(one):
        run_sync(agent.close())


def end_of(turn: Turn) -> str:
    turn.done.result(SECONDS)
    return turn.status


def stop_when(chat: Chat, is_reached: Callable[[], bool]) -> str:
    """Send a prompt, stop the turn once something is reached, and return its status."""
    turn = chat.start("First.")
    turn.add_listener(lambda _: turn.cancel() if is_reached() else None)
    return end_of(turn)


def test_a_question_at_a_cancel_is_answered(start: Start, chat: Chat) -> None:
    """ThinkInAIXYZ/deepchat#1881, topcheer/ggcode#1046, assistant-ui/assistant-ui#6027: a prompt is cancelled while the
    agent asks for permission; the question stays open, and the prompt hangs. Right: the question is answered, the turn
    ends, and the next prompt is answered by the same process. Before: wrong.
    """
    question = {"ask": {"call": OF_NOTEBOOK, "options": [YES, NO]}}
    agent = start([{"begin_call": ADD}, {"wait": "cancel"}, tool_call(), question], [{"say": "Two."}])
    chat.approver = lambda _: Undecided()

    status = stop_when(chat, lambda: bool(chat.approvals.pending()))

    assert (status, chat.send("Second.").text) == ("cancelled", "Two.")
    assert len(agent.all_of("answer")) == 1
    assert len(agent.all_of("started")) == 1


def test_a_stopped_turn_leaves_the_session_as_it_is(start: Start, chat: Chat) -> None:
    """sudoprivacy/sudowork#386: stopping an answer kills the agent, and the next message waits for a new one. Right:
    the prompt is cancelled, and the same process and session answer the next one. Before: wrong.
    """
    agent = start([{"say": "One"}, {"wait": "cancel"}], [{"say": "Two."}])
    turn = chat.start("First.")
    turn.add_listener(lambda event: turn.cancel() if event.kind == "text_delta" else None)
    if turn.text:
        turn.cancel()

    assert end_of(turn) == "cancelled"
    assert chat.send("Second.").text == "Two."
    assert (len(agent.all_of("started")), len(agent.requests("session/new"))) == (1, 1)


def test_an_agent_that_does_not_take_a_cancel_is_ended(start: Start, chat: Chat, tmp_path: Path) -> None:
    """anomalyco/opencode#30146: the agent rejects `session/cancel`, and its answer goes on until its end. Right: its
    process is ended after two seconds, and another one goes on with the session. Before: wrong.
    """
    use_agent(chat, AgentLimits(cancel=0.2))
    agent = start([{"say": "One"}, {"wait": str(tmp_path / "never")}])
    turn = chat.start("First.")
    turn.add_listener(lambda event: turn.cancel() if event.kind == "text_delta" else None)
    if turn.text:
        turn.cancel()
    assert end_of(turn) == "cancelled"
    agent.change({"prompts": [[{"say": "Two."}]]})

    assert chat.send("Second.").text == "Two."
    assert not is_alive(agent.all_of("started")[0])


def test_a_permission_is_rejected_by_its_option(start: Start, chat: Chat) -> None:
    """hawkingrei/agenthub#555: a permission that nobody gives is answered as cancelled, which is the answer for a
    cancelled prompt, and the agent has no decision. Right: what is not allowed is rejected by the option for that, and
    what is allowed is allowed for this once. Before: wrong.
    """
    own = {"ask": {"call": {"toolCallId": "t2", "title": "Bash"}, "options": [ALWAYS, YES, NO]}}
    agent = start([tool_call(), {"ask": {"call": OF_NOTEBOOK, "options": [ALWAYS, YES, NO]}}, own, {"wait": "cancel"}])

    turn = chat.send("Go.")

    outcomes = [answer["outcome"] for answer in agent.all_of("answer")]
    assert outcomes == [{"outcome": "selected", "optionId": "yes"}, {"outcome": "selected", "optionId": "no"}]
    assert isinstance(turn.error, AgentStopped)


def test_processes_do_not_stay_after_a_chat(start: Start, chat: Chat) -> None:
    """agentclientprotocol/claude-agent-acp#681, openclaw/openclaw#70860, openclaw/openclaw#44790, iOfficeAI/AionUi#773:
    after the end of a conversation the adapter and its children go on, dozens after some days. Right: nothing that the
    agent has started is left. Before: wrong.
    """
    agent = start([{"spawn": True}, {"say": "One."}])
    chat.send("Go.")
    pids = [*agent.all_of("started"), *agent.all_of("spawned")]
    assert all(map(is_alive, pids))

    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    assert not any(map(is_alive, pids))


def test_an_agent_that_ignores_the_end_of_its_input_is_ended(start: Start, chat: Chat) -> None:
    """agentclientprotocol/claude-agent-acp#530: the adapter does not exit when the client closes its standard input.
    Right: it is asked to end, and then killed. Before: wrong.
    """
    agent = start([{"say": "One."}], **{"at start": [{"ignore": True}]})
    chat.send("Go.")

    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    assert not is_alive(agent.all_of("started")[0])


def test_a_session_that_goes_on_again_and_again_has_one_process(start: Start, chat: Chat) -> None:
    """agentclientprotocol/claude-agent-acp#1011: each `session/load` in a process that stays leaves another child of
    the agent behind. Right: a session that goes on has one process, and those before have ended with their children.
    Before: wrong.
    """
    agent = start([{"spawn": True}, {"say": "One."}])
    for number in range(3):
        chat.send(f"Prompt {number}.")
        if number < 2:
            run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    alive = [is_alive(pid) for pid in agent.all_of("started")]
    assert (alive, [is_alive(pid) for pid in agent.all_of("spawned")]) == ([False, False, True], [False, False, True])
    assert len(agent.requests("session/resume")) == 2


def test_an_agent_does_not_write_the_notebook(start: Start, chat: Chat) -> None:
    """jupyter-ai-contrib/jupyter-ai-acp-client#183, jupyter-ai-contrib/jupyter-ai-acp-client#188: an agent edits the
    `.ipynb` itself, which corrupts it and passes the open document by; a client exempts what is titled as a call of a
    server. Right: the edit is rejected whatever its title is, the turn ends, and the change is shown. Before: wrong.
    """
    diff = {"type": "diff", "path": "/n/book.ipynb", "oldText": "a", "newText": "b"}
    edit = {"toolCallId": "t2", "title": "Running: @notebook/add", "kind": "edit", "content": [diff]}
    agent = start([{"ask": {"call": edit, "options": [YES, NO]}}, {"wait": "cancel"}])

    turn = chat.send("Go.")

    assert isinstance(turn.error, AgentStopped)
    assert agent.all_of("answer")[0]["outcome"]["optionId"] == "no"
    assert any(part.kind == "provider_call" for message in turn.messages.chain for part in message.parts)


def test_the_prompt_is_shown_once(start: Start, chat: Chat) -> None:
    """anomalyco/opencode#22468: the agent repeats the prompt as an update, and it is shown twice. Right: the turn has
    the prompt once, and the reply without it. Before: wrong.
    """
    chunk = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hello?"}}
    start([{"update": chunk}, {"say": "Hello."}])

    turn = chat.send("Hello?")

    assert turn.text == "Hello."


def test_a_resumed_session_that_repeats_its_past_shows_nothing_of_it(start: Start, chat: Chat) -> None:
    """NousResearch/hermes-agent#17874: an agent replays the whole past on `session/resume` too, which the protocol
    leaves to `session/load`. Right: nothing of it is shown, and a tool in it ends nothing. Before: wrong.
    """
    past: list[dict[str, Any]] = [
        {"say": "From before."},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "old", "title": "ls", "name": "Bash"}},
    ]
    agent = start([{"say": "Now."}], **{"during session/resume": past})
    chat.send("First.")
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    turn = chat.send("Second.")

    assert (turn.status, turn.text, len(agent.requests("session/resume"))) == ("completed", "Now.", 1)


def test_a_key_of_the_environment_does_not_take_the_place_of_a_login(
    start: Start, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """agentclientprotocol/claude-agent-acp#337: the client passes its environment on, and a key in it is charged in
    place of the subscription, without a word. Right: the agent gets no key that the person did not name for it.
    Before: wrong.
    """
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    agent = start([{"say": "Hello."}])

    chat.send("Hello.")

    assert "ANTHROPIC_API_KEY" not in agent.all_of("environment")[0]


def test_a_login_that_is_not_accepted_is_an_error_with_what_to_do(start: Start, chat: Chat) -> None:
    """agentclientprotocol/claude-agent-acp#421: the adapter says that a subscription is not supported, and the client
    shows an internal error. Right: the turn ends with what the agent says, and names its command to log in.
    Before: wrong.
    """
    message = "Authentication required: This integration does not support using claude.ai subscriptions."
    start([{"error": {"code": -32000, "message": message}}])

    turn = chat.send("Hello.")

    assert isinstance(turn.error, AuthenticationFailed)
    assert message in str(turn.error)
    assert "`claude`" in turn.error.fix


def test_a_denied_call_ends_nothing(start: Start, chat: Chat) -> None:
    """hawkingrei/agenthub#600: after a denial the agent does not return from its prompt, and later commands wait for
    ever. Right: the denial is the result of the call, the prompt goes on, and the next one is answered. Before: wrong.
    """
    asked: list[Question] = []

    def deny(question: Question) -> None:
        asked.append(question)

    start([{"call": ADD}, {"say": "Then not."}], [{"say": "Two."}])
    chat.approver = deny

    first, second = chat.send("First."), chat.send("Second.")

    assert ([call.status for call in first.calls], len(asked)) == (["denied"], 1)
    assert (first.text, second.text) == ("Then not.", "Two.")
