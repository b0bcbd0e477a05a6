"""Agents that end, hang, send what cannot be read, or do not stop: the turn ends, and nothing of them is left."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of, use_agent
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.events import CallAsked, TextDelta
from nbtool.settings import display_path
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Question, Undecided
from nbtool.wire.agents.limits import AgentLimits
from tests.wire.agents.agents import MakeAgent, Scripted, is_alive

SECONDS = 30.0


def end_of(turn: Turn) -> tuple[str, str]:
    turn.done.result(SECONDS)
    return turn.status, type(turn.error).__name__


def session_of(chat: Chat) -> Any:
    agent = agent_of(chat)
    assert agent
    return agent.session


def close(chat: Chat) -> None:
    agent = agent_of(chat)
    assert agent
    run_sync(agent.close())


def when(turn: Turn, kind: type) -> threading.Event:
    """Return an event that is set when the turn has one of this kind."""
    seen = threading.Event()
    turn.add_listener(lambda event: seen.set() if isinstance(event, kind) else None)
    return seen


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({"at start": [{"stderr": "no such model\n", "exit": 3}]}, "ConnectionFailed"),
        ({"during initialize": [{"exit": 3}]}, "ConnectionFailed"),
        ({"before session/new": [{"exit": 3}]}, "ConnectionFailed"),
        ({"initialize": {"error": {"code": -32603, "message": "broken"}}}, "AgentError"),
        ({"initialize": {"protocolVersion": 2}}, "InvalidReply"),
        ({"initialize": {}}, "InvalidReply"),
        ({"session/new": {"error": {"code": -32000, "message": "Log in first"}}}, "AuthenticationFailed"),
        ({"session/new": {"modes": {"currentModeId": "default"}}}, "InvalidReply"),
        ({"at start": [{"long": 5_000_000}]}, "InvalidReply"),
        ({"at start": [{"line": "x"}] * 1_001}, "InvalidReply"),
    ],
)
def test_an_agent_that_does_not_open_a_session_ends_the_turn(
    make_agent: MakeAgent, chat: Chat, script: dict[str, Any], error: str
) -> None:
    agent = make_agent([{"say": "Hello."}], **script)

    turn = chat.start("Go.")

    assert end_of(turn) == ("error", error)
    assert agent.prompts() == []
    assert session_of(chat) is None
    assert (error != "ConnectionFailed") or f"`{display_path(Path(sys.executable))} …`" in getattr(
        turn.error, "fix", ""
    )
    (pid,) = agent.all_of("started")[:1]
    assert not is_alive(pid)


def test_an_agent_that_hangs_at_its_start_is_ended(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    use_agent(chat, AgentLimits(start=1.0))
    agent = make_agent([], **{"during initialize": [{"wait": str(tmp_path / "never")}]})

    assert end_of(chat.start("Go.")) == ("error", "TimedOut")
    assert not is_alive(agent.all_of("started")[0])


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([{"exit": 3}], "ConnectionFailed"),
        ([{"line": "{" * 100_000}, {"exit": 0}], "ConnectionFailed"),
        ([{"long": 5_000_000}, {"wait": "cancel"}], "InvalidReply"),
        ([{"error": {"code": -32603, "message": "the model cannot be reached"}}], "AgentError"),
        ([{"error": {"code": -32000, "message": "Log in first"}}], "AuthenticationFailed"),
        ([{"error": {"message": 3}}], "AgentError"),
    ],
)
def test_an_agent_that_ends_in_a_prompt_ends_the_turn_whose_text_stays(
    make_agent: MakeAgent, chat: Chat, steps: list[dict[str, Any]], error: str
) -> None:
    make_agent([{"say": "So far."}, *steps])

    turn = chat.start("Go.")

    assert end_of(turn) == ("error", error)
    assert turn.text == "So far."


def test_an_error_that_the_agent_says_as_text_is_text(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([{"say": "Error:500"}])

    assert chat.send("Go.").text == "Error:500"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "noise",
    [
        {"line": "Starting up …"},
        {"line": ""},
        {"line": "[1, 2]"},
        {"line": '{"jsonrpc": "1.0", "method": "session/update"}'},
        {"line": '{"jsonrpc": "2.0", "method": "session/update", "params": [1]}'},
        {"line": '{"jsonrpc": "2.0", "id": 77, "result": {}}'},
        {"line": '{"jsonrpc": "2.0", "id": {"a": 1}, "method": "session/request_permission"}'},
        {"line": '{"jsonrpc": "2.0", "id": null, "result": {"stopReason": "end_turn"}}'},
        {"message": {"method": "session/of_tomorrow", "params": {}}},
        {"message": {"method": "session/update", "params": {"sessionId": "S1"}}},
        {"message": {"method": "$/cancel_request", "params": {"requestId": "unknown"}}},
        {"message": {"method": "$/cancel_request", "params": {"requestId": [1]}}},
        {"update": {"sessionUpdate": "of_tomorrow", "content": 1}},
        {"update": {"sessionUpdate": ["agent_message_chunk"]}},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 3}}},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": "text"}},
        {
            "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "image", "mimeType": "a", "data": "%"},
            }
        },
        {"update": {"sessionUpdate": "plan", "entries": [1, {"content": None}]}},
        {"update": {"sessionUpdate": "plan_update", "planId": "p"}},
        {"update": {"sessionUpdate": "usage_update", "used": -1, "cost": {"amount": "much"}}},
        {"update": {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "rm"}]}},
        {"update": {"sessionUpdate": "session_info_update", "_meta": {"title": "x"}}},
        {"update": {"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", "currentValue": "x"}]}},
        {
            "update": {
                "session": "another",
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "X"},
            }
        },
        {"stderr": "a warning\n"},
    ],
)
def test_what_is_no_message_or_of_an_unknown_kind_is_no_harm(
    make_agent: MakeAgent, chat: Chat, noise: dict[str, Any]
) -> None:
    make_agent([{"say": "One "}, noise, {"say": "two."}])

    turn = chat.start("Go.")

    assert end_of(turn) == ("completed", "NoneType")
    assert turn.text == "One two."


def test_many_updates_while_a_call_waits_end_the_agent(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    use_agent(chat, AgentLimits(max_updates=100))
    asked = tmp_path / "asked"

    def wait(_: Question) -> Undecided:
        asked.touch()
        return Undecided()

    chat.approver = wait
    make_agent([{"begin_call": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"wait": str(asked)}, {"many": 200}])

    turn = chat.start("Go.")

    assert end_of(turn) == ("error", "AgentStopped")
    assert [call.status for call in turn.calls] == ["denied"]


def test_thousands_of_updates_are_read_while_no_call_waits(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([{"many": 5_000}])

    assert chat.send("Go.").text.split() == [str(number) for number in range(5_000)]


def test_a_stopped_turn_cancels_the_prompt_and_its_late_answer_is_in_no_later_turn(
    make_agent: MakeAgent, chat: Chat
) -> None:
    agent = make_agent([{"say": "One"}, {"wait": "cancel"}, {"say": "late"}], [{"say": "Two."}])
    turn = chat.start("First.")
    assert when(turn, TextDelta).wait(SECONDS) or turn.text
    process = session_of(chat).pid
    turn.cancel()

    assert end_of(turn)[0] == "cancelled"
    assert chat.send("Second.").text == "Two."
    assert session_of(chat).pid == process
    assert len(agent.requests("session/cancel")) == 1


def test_updates_after_the_answer_are_in_no_turn(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    make_agent(
        [
            {"say": "One."},
            {"later": {"name": "add", "arguments": {"a": 1, "b": 2}, "when": str(sent), "then": str(sent) + "2"}},
        ],
        [{"wait": str(sent) + "2"}, {"say": "Two."}],
    )

    first = chat.send("First.")
    sent.touch()
    while not Path(f"{sent}2").exists():
        threading.Event().wait(0.01)
    second = chat.send("Second.")

    assert (first.text, second.text) == ("One.", "Two.")


def test_a_call_after_the_end_of_its_turn_does_not_run(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    ran: list[int] = []

    def act(number: int) -> int:
        """Act."""
        ran.append(number)
        return number

    chat.tools.add(act)
    sent, done = tmp_path / "sent", tmp_path / "done"
    later = {"name": "act", "arguments": {"number": 1}, "when": str(sent), "then": str(done)}
    agent = make_agent([{"later": later}, {"say": "One."}])

    chat.send("First.")
    sent.touch()
    while not done.exists():
        threading.Event().wait(0.01)

    assert ran == []
    assert len(agent.all_of("result")) == 1


def test_an_agent_that_does_not_stop_is_ended_and_the_next_turn_has_another_process(
    make_agent: MakeAgent, chat: Chat, tmp_path: Path
) -> None:
    use_agent(chat, AgentLimits(cancel=0.2))
    agent = make_agent([{"say": "One"}, {"wait": str(tmp_path / "never")}])
    turn = chat.start("First.")
    assert when(turn, TextDelta).wait(SECONDS) or turn.text
    turn.cancel()
    assert end_of(turn)[0] == "cancelled"

    agent.change({"prompts": [[{"say": "Two."}]]})
    assert chat.send("Second.").text == "Two."
    assert len(agent.requests("session/resume")) == 1
    assert not is_alive(agent.all_of("started")[0])


def test_a_turn_is_stopped_while_a_question_waits(make_agent: MakeAgent, chat: Chat) -> None:
    chat.approver = lambda _: Undecided()
    agent = make_agent(
        [{"begin_call": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"wait": "cancel"}], [{"say": "2"}]
    )
    turn = chat.start("First.")
    assert when(turn, CallAsked).wait(SECONDS) or chat.approvals.pending()
    turn.cancel()

    assert end_of(turn)[0] == "cancelled"
    assert chat.approvals.pending() == ()
    assert chat.send("Second.").text == "2"
    assert len(agent.requests("session/cancel")) == 1


def test_an_agent_that_ends_while_a_question_waits_ends_the_turn_and_the_question(
    make_agent: MakeAgent, chat: Chat, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"

    def wait(_: Question) -> Undecided:
        asked.touch()
        return Undecided()

    chat.approver = wait
    make_agent([{"begin_call": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"wait": str(asked)}, {"exit": 3}])

    turn = chat.start("Go.")

    assert end_of(turn) == ("error", "ConnectionFailed")
    assert [call.status for call in turn.calls] == ["denied"]
    assert chat.approvals.pending() == ()


def test_a_call_that_the_agent_gives_up_does_not_run(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    asked = tmp_path / "asked"

    def wait(_: Question) -> Undecided:
        asked.touch()
        return Undecided()

    chat.approver = wait
    call = {"name": "add", "arguments": {"a": 1, "b": 2}, "when": str(asked)}
    make_agent([{"abandon": call}, {"say": "Given-up."}])

    turn = chat.start("Go.")

    assert end_of(turn) == ("completed", "NoneType")
    assert [call.status for call in turn.calls] == ["denied"]
    assert turn.text == "Given-up."


def test_a_question_is_denied_before_the_agent_gives_up(make_agent: MakeAgent, chat: Chat) -> None:
    use_agent(chat, AgentLimits(call=0.3))
    chat.approver = lambda _: Undecided()
    make_agent([{"call": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"say": "No one was there."}])

    turn = chat.start("Go.")

    assert end_of(turn) == ("completed", "NoneType")
    assert [call.status for call in turn.calls] == ["denied"]


def test_an_agent_that_sends_nothing_is_named_once(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    use_agent(chat, AgentLimits(quiet=0.1))
    noticed = tmp_path / "noticed"
    make_agent([{"wait": str(noticed)}, {"say": "Now."}])
    turn = chat.start("Go.")
    turn.add_listener(lambda event: noticed.touch() if event.kind == "notice" else None)
    for event in turn.log:
        if event.kind == "notice":
            noticed.touch()

    assert end_of(turn) == ("completed", "NoneType")
    assert sum(event.kind == "notice" for event in turn.log) == 1


@pytest.mark.parametrize("first", [[], [{"ignore": True}], [{"spawn": True}], [{"ignore": True}, {"spawn": True}]])
def test_nothing_of_an_agent_is_left_after_its_end(
    make_agent: MakeAgent, chat: Chat, first: list[dict[str, Any]]
) -> None:
    agent = make_agent([{"say": "One."}], **{"at start": first})
    chat.send("Go.")
    pids = [session_of(chat).pid, *agent.all_of("started"), *agent.all_of("spawned")]
    assert all(map(is_alive, pids))

    close(chat)

    assert not any(map(is_alive, pids))
    assert left_of(agent) == []


def test_nothing_of_an_agent_is_left_after_it_crashed(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"spawn": True}, {"exit": 1}])

    assert end_of(chat.start("Go."))[0] == "error"
    close(chat)
    assert not any(map(is_alive, [*agent.all_of("started"), *agent.all_of("spawned")]))


KERNEL = """
import gc, sys
from nbtool.chat.chat import Chat
one = Chat("acp:claude")
print(one.send("Go.").text, flush=True)
if sys.stdin.readline() == "forget\\n":
    del one
    gc.collect()
    sys.stdin.readline()
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("end", ["the chat is garbage", "the kernel ends", "the kernel is killed"])
def test_nothing_of_an_agent_is_left_when_its_chat_or_its_kernel_is_gone(make_agent: MakeAgent, end: str) -> None:
    agent = make_agent([{"say": "One."}], **{"at start": [{"ignore": True}, {"spawn": True}]})
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", KERNEL], stdin=pipe, stdout=pipe, text=True) as kernel:
        assert kernel.stdin
        assert kernel.stdout
        assert kernel.stdout.readline() == "One.\n"
        pids = [*agent.all_of("started"), *agent.all_of("spawned")]
        assert all(map(is_alive, pids))
        if end == "the kernel is killed":
            kernel.kill()
        else:
            kernel.stdin.write("forget\n" if "garbage" in end else "end\n")
            kernel.stdin.flush()
        while any(map(is_alive, pids)) or left_of(agent):
            threading.Event().wait(0.01)


def left_of(agent: Scripted) -> list[str]:
    """The processes that still run with the script of a test in their arguments."""
    mark = str(agent.script).encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                arguments = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            found += [folder.name] if mark in arguments else []
    return found
