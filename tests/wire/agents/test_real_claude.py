"""Claude Code itself, with a double of its model on loopback (`make lane LANE=acp-agents` installs it)."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.events import CallAsked, Notice, TextDelta
from nbtool.settings import data_dir
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approved, Denied, Question, Undecided
from nbtool.wire.agents.profiles import PROFILES
from tests.wire.agents.agents import is_alive
from tests.wire.agents.claude_model import ClaudeModel, serve_model
from tests.wire.agents.claude_program import INSTALLED, PACKAGE, environment, write_settings

MEAN = "mcp__notebook__mean_mass"
SECONDS = 60.0

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not INSTALLED.exists(), reason="make lane LANE=acp-agents installs it"),
]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClaudeModel]:
    """Give the model of an agent that has a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    with serve_model() as one:
        for name, value in environment(home, one.url).items():
            monkeypatch.setenv(name, value)
        write_settings(data_dir())
        yield one


@pytest.fixture
def tables() -> list[object]:
    """The objects that the tool got."""
    return []


@pytest.fixture
def chat(tables: list[object]) -> Iterator[Chat]:
    """Give a chat with the agent, a tool and an object."""

    def mean_mass(table: Any) -> float:
        """Return the mean mass of a table."""
        tables.append(table)
        return 4.0

    one = Chat("acp:claude", tools=[mean_mass], approver=lambda _: Approved())
    one.expose(penguins=[3.0, 5.0])
    yield one
    if agent := agent_of(one):
        run_sync(agent.close())


def call(name: str = MEAN, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return name, arguments or {"table": "$VAR_REF{{penguins}}"}


def end_of(turn: Turn) -> str:
    turn.done.result(SECONDS)
    return turn.status


def has_happened(turn: Turn, kind: type) -> bool:
    """Wait for an event of a turn that runs."""
    seen = threading.Event()
    turn.add_listener(lambda event: seen.set() if isinstance(event, kind) else None)
    if any(isinstance(event, kind) for event in turn.log):
        return True
    return seen.wait(SECONDS)


def test_it_is_the_version_that_was_tried() -> None:
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == PROFILES["claude"].tested


def test_the_model_is_offered_the_tools_of_the_notebook_and_no_others(
    model: ClaudeModel, chat: Chat, tables: list[object]
) -> None:
    model.say([call()], "It is 4.0.")

    turn = chat.send("How heavy are they?")

    assert (turn.status, turn.text, turn.error) == ("completed", "It is 4.0.", None)
    assert [(one.name, one.status) for one in turn.calls] == [("mean_mass", "ok")]
    assert tables == [chat.variables.value("penguins")]
    assert tables[0] is chat.variables.value("penguins")
    assert model.offered() == {MEAN, "mcp__notebook__ListVars", "mcp__notebook__ReadVar"}
    assert not any(isinstance(event, Notice) for event in turn.log)
    assert turn.usage.input_tokens >= 200


def test_a_session_that_goes_on_in_another_process_has_no_other_tools_either(model: ClaudeModel, chat: Chat) -> None:
    model.say("One.", "Two.")
    chat.send("First.")
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    turn = chat.send("Second.")

    assert (turn.status, turn.text) == ("completed", "Two.")
    sent = [json.dumps(one["messages"]) for one in model.requests if one.get("tools")]
    last = next(one for one in reversed(sent) if "Second." in one)
    assert ("First." in last, "transcript" in last) == (True, False)
    assert model.offered() == {MEAN, "mcp__notebook__ListVars", "mcp__notebook__ReadVar"}


def test_its_model_gets_no_request_beyond_those_of_the_turns(model: ClaudeModel, chat: Chat) -> None:
    """It would ask for a title of each session, and after each prompt for what the person may say next."""
    model.say([call()], "One.", "Two.", "Three.")
    for prompt in ("How heavy are they on the whole?", "How light are they on the whole?"):
        assert chat.send(prompt).status == "completed"
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    assert chat.send("And again, on the whole?").text == "Three."
    assert len(model.requests) == 4


def test_a_denied_call_does_not_run(model: ClaudeModel, chat: Chat, tables: list[object]) -> None:
    chat.approver = lambda _: Denied("no")
    model.say([call()], "Then not.")

    turn = chat.send("Go.")

    assert (turn.status, turn.text, tables) == ("completed", "Then not.", [])
    assert [one.status for one in turn.calls] == ["denied"]


def test_three_calls_of_one_reply_run(model: ClaudeModel, chat: Chat, tables: list[object]) -> None:
    model.say([call(), call(), call()], "Done.")

    turn = chat.send("Go.")

    assert (turn.status, turn.text, len(tables)) == ("completed", "Done.", 3)


@pytest.mark.parametrize("name", ["Bash", "Write", "Read", "WebFetch", "Task", "ToolSearch"])
def test_a_tool_of_its_own_that_the_model_calls_all_the_same_has_no_effect(
    model: ClaudeModel, chat: Chat, tmp_path: Path, name: str
) -> None:
    target = tmp_path / "made.ipynb"
    arguments = {
        "Bash": {"command": f"touch {target}", "description": "x"},
        "Write": {"file_path": str(target), "content": "x"},
        "Read": {"file_path": str(tmp_path / "home")},
        "WebFetch": {"url": model.url, "prompt": "x"},
        "Task": {"description": "x", "prompt": "x", "subagent_type": "general-purpose"},
        "ToolSearch": {"query": "bash"},
    }[name]
    model.say([(name, arguments)], "Done.")

    turn = chat.send("Go.")

    assert (turn.status, type(turn.error).__name__) == ("error", "AgentStopped")
    assert name in str(turn.error)
    assert not target.exists()


def test_a_prompt_is_cancelled_while_its_model_answers(model: ClaudeModel, chat: Chat) -> None:
    model.say("One.")
    chat.send("First.")
    process = agent_of(chat).session.pid  # type: ignore[union-attr]
    model.hold.clear()
    model.say("Late.")
    turn = chat.start("Second.")
    while len([one for one in model.requests if "Second." in json.dumps(one["messages"])]) == 0:
        threading.Event().wait(0.05)
    turn.cancel()
    assert end_of(turn) == "cancelled"
    model.hold.set()
    model.steps.clear()
    model.say("Three.")

    assert chat.send("Third.").text == "Three."
    assert agent_of(chat).session.pid == process  # type: ignore[union-attr]


def test_a_turn_is_stopped_while_a_question_waits(model: ClaudeModel, chat: Chat, tables: list[object]) -> None:
    chat.approver = lambda _: Undecided()
    model.say([call()], "Late.")
    turn = chat.start("Go.")
    assert has_happened(turn, CallAsked)
    turn.cancel()

    assert end_of(turn) == "cancelled"
    assert chat.approvals.pending() == ()
    model.steps.clear()
    model.say("Two.")
    assert chat.send("Second.").text == "Two."
    assert tables == []


def test_an_agent_that_is_killed_ends_the_turn_and_goes_on_in_the_next(model: ClaudeModel, chat: Chat) -> None:
    asked = threading.Event()

    def wait(_: Question) -> Undecided:
        asked.set()
        return Undecided()

    chat.approver = wait
    model.say([call()])
    turn = chat.start("Go.")
    assert asked.wait(SECONDS)
    session = agent_of(chat).session  # type: ignore[union-attr]
    assert session
    children = Path(f"/proc/{session.pid}/task/{session.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)

    assert end_of(turn) == "error"
    model.steps.clear()
    model.say("Two.")
    assert chat.send("Second.").text == "Two."
    assert not is_alive(session.pid)


def test_settings_and_instructions_of_the_folder_of_the_notebook_are_not_read(
    model: ClaudeModel, chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, mark = tmp_path / "project", tmp_path / "hook-ran"
    hook = {"hooks": [{"type": "command", "command": f"touch {mark}"}]}
    for folder in (project, Path(os.environ["HOME"])):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
        (folder / "CLAUDE.md").write_text("PINEAPPLE")
        (folder / ".claude" / "CLAUDE.md").write_text("PINEAPPLE")
    server = {"command": "touch", "args": [str(mark)]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server}}))
    (project / "book.ipynb").write_text("{}")
    monkeypatch.chdir(project)
    model.say("Hello.")

    assert chat.send("Hello.").text == "Hello."

    assert not mark.exists()
    assert "PINEAPPLE" not in json.dumps(model.requests)
    assert (project / "book.ipynb").read_text() == "{}"


def test_the_token_is_in_no_process_and_not_in_the_home_of_the_agent(
    model: ClaudeModel, chat: Chat, tmp_path: Path
) -> None:
    chat.approver = lambda _: Undecided()
    model.say([call()])
    turn = chat.start("Go.")
    assert has_happened(turn, CallAsked)
    session = agent_of(chat).session  # type: ignore[union-attr]
    assert session
    token = session.relay.token.get_secret_value().encode()

    found = []
    for folder in Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            try:
                found += [folder / name] if token in (folder / name).read_bytes() else []
            except OSError:
                continue
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    found += [path for path in files if token in path.read_bytes()]
    turn.cancel()
    end_of(turn)

    assert found == []
    assert files != []


def test_a_text_streams_as_it_arrives(model: ClaudeModel, chat: Chat) -> None:
    model.say("One-two-three.")
    deltas: list[str] = []
    turn = chat.start("Go.")
    turn.add_listener(lambda event: deltas.append(event.text) if isinstance(event, TextDelta) else None)

    assert end_of(turn) == "completed"
    assert turn.text == "One-two-three."
