"""An agent that answers in a cell has the notebook's tools and nothing else, and nothing of it is left."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.notebook import Notebook
from tests.contract.tools import KEEP_CELL, PAY_CELL

AGENT = Path(__file__).parents[1] / "wire" / "agents" / "scripted_agent.py"
"""An agent of the protocol that does what a script says."""

FEATURE = "let Claude Code answer in the cell, with your tools and nothing else"
PAY = {"call": {"name": "pay", "arguments": {"amount": 5}}}
OF_BASH = {"claudeCode": {"toolName": "Bash"}}
SHELL = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "mcp__notebook__pay", "_meta": OF_BASH}}
SECONDS = 30.0

Script = Callable[..., Path]


@pytest.fixture
def script(home: Path, tmp_path: Path) -> Script:
    """Give a function that says what the agent does at each prompt, and returns the log of what it has seen."""

    def write(*prompts: list[dict[str, Any]], **more: Any) -> Path:
        steps, log = tmp_path / "script.json", tmp_path / "agent.log"
        steps.write_text(json.dumps({"prompts": prompts, **more}))
        args = json.dumps([str(AGENT), str(steps), str(log)])
        (home / "agents.toml").write_text(f"[claude]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n")
        return log

    return write


def seen(log: Path, key: str) -> list[Any]:
    """Give what the agent has logged under a key."""
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [entry[key] for entry in entries if key in entry]


def requests(log: Path, method: str) -> list[Any]:
    """Give the parameters of the requests that the agent got."""
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [entry["params"] for entry in entries if entry.get("method") == method]


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("agent-gates")
def test_an_agent_calls_a_tool_of_the_cell_after_the_approval(script: Script, notebook: Notebook) -> None:
    log = script([{"say": "I pay. "}, PAY, {"say": "Paid."}])
    notebook.run(PAY_CELL)

    turn = notebook.ask("Pay 5.", "-m acp:claude -t pay --approve auto")

    assert (turn.status, turn.text, notebook.names["paid"]) == ("completed", "Paid.", [5])
    assert [(call.name, call.status) for call in turn.calls] == [("pay", "ok")]
    assert seen(log, "tools") == [["pay", "ListVars", "ReadVar"]]


@pytest.mark.promise("agent-gates")
def test_a_call_of_an_agent_that_is_denied_has_no_effect(script: Script, notebook: Notebook) -> None:
    script([PAY, {"say": "Not paid."}])
    notebook.run(PAY_CELL)

    turn = notebook.ask("Pay 5.", "-m acp:claude -t pay --approve deny")

    assert (turn.status, turn.text, notebook.names["paid"]) == ("completed", "Not paid.", [])
    assert [call.status for call in turn.calls] == ["denied"]


@pytest.mark.promise("agent-gates")
def test_a_call_after_the_end_of_its_turn_has_no_effect(script: Script, notebook: Notebook, tmp_path: Path) -> None:
    ended, done = tmp_path / "ended", tmp_path / "done"
    later = {**PAY["call"], "when": str(ended), "then": str(done)}
    script([{"later": later}, {"say": "Later."}])
    notebook.run(PAY_CELL)
    notebook.ask("Pay 5.", "-m acp:claude -t pay --approve auto")
    ended.touch()
    wait_until(done.exists)

    assert notebook.names["paid"] == []


@pytest.mark.feature(FEATURE)
def test_an_object_reaches_a_tool_of_the_cell_by_reference(script: Script, notebook: Notebook) -> None:
    log = script([{"call": {"name": "keep", "arguments": {"data": "$VAR_REF{{frame}}"}}}, {"say": "Done."}])
    notebook.run(f"{KEEP_CELL}\nframe = [1, 2, 3]")

    notebook.ask("Keep it.", "-m acp:claude -t keep -v frame")

    assert notebook.names["received"][0] is notebook.names["frame"]
    assert "[1, 2, 3]" not in log.read_text()


@pytest.mark.promise("agent-notebook-only")
@pytest.mark.parametrize(
    "step",
    [
        SHELL,
        {"ask": {"call": {"toolCallId": "t1"}, "options": [{"kind": "allow_once", "name": "y", "optionId": "y"}]}},
        {"ask": {"method": "fs/write_text_file"}},
        {"ask": {"method": "terminal/create"}},
    ],
)
def test_whatever_else_an_agent_does_ends_the_turn_and_the_agent(
    script: Script, notebook: Notebook, step: dict[str, Any]
) -> None:
    log = script([step, {"wait": "cancel"}, PAY])
    notebook.run(PAY_CELL)

    notebook.run("%%chat -m acp:claude -t pay --approve auto -o turn\nPay 5.")

    turn = notebook.names["turn"]
    assert (turn.status, type(turn.error).__name__, notebook.names["paid"]) == ("error", "AgentStopped", [])
    answers = json.dumps(seen(log, "answer"))
    assert '"y"' not in answers
    (pid,) = seen(log, "started")
    wait_until(lambda: not is_alive(pid))


@pytest.mark.promise("agent-mode")
def test_an_agent_in_another_mode_gets_no_prompt(script: Script, notebook: Notebook) -> None:
    log = script([{"say": "Hello."}], **{"session/new": {"sessionId": "S", "modes": {"currentModeId": "auto"}}})

    notebook.run("%%chat -m acp:claude -o turn\nHello.")

    assert notebook.names["turn"].status == "error"
    assert requests(log, "session/set_mode") == [{"sessionId": "S", "modeId": "default"}]
    assert requests(log, "session/prompt") == []


@pytest.mark.promise("agent-memory")
def test_a_session_goes_on_with_the_turns_that_it_has_seen_and_with_no_others(
    script: Script, notebook: Notebook
) -> None:
    log = script(*([{"say": f"Answer {number}."}] for number in range(3)))
    notebook.ask("First.", "-m acp:claude")
    notebook.ask("Second.")
    notebook.ask("Another second.", "--edit 2")

    prompts = ["".join(block["text"] for block in one["prompt"]) for one in requests(log, "session/prompt")]
    assert len(requests(log, "session/new")) == 2
    assert ("First." in prompts[1], "Second." in prompts[1]) == (False, True)
    assert ("First." in prompts[2], "Second." in prompts[2], "Answer 0." in prompts[2]) == (True, False, True)


@pytest.mark.promise("agent-environment")
def test_an_agent_gets_no_key_no_token_and_no_folder_of_the_notebook(
    script: Script, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    log = script([{"say": "Hello."}])

    notebook.ask("Hello.", "-m acp:claude")

    (names,), (folder,) = seen(log, "environment"), seen(log, "folder")
    assert {"HOME", "PATH"} <= set(names)
    assert not {"ANTHROPIC_API_KEY", "PYTHONPATH", "NBTOOL_MODEL"} & set(names)
    assert not Path.cwd().is_relative_to(folder)
    assert list(Path(folder).iterdir()) == []
    (server,) = requests(log, "session/new")[0]["mcpServers"]
    token = json.loads(Path(server["args"][-1]).read_text())["token"]
    assert token not in json.dumps(server)
    assert token not in everything_of_processes()


@pytest.mark.sampled(1)
@pytest.mark.promise("agent-end")
@pytest.mark.parametrize("end", ["forgets", "is killed"])
def test_nothing_of_an_agent_is_left(script: Script, end: str) -> None:
    log = script([{"say": "Hello."}], **{"at start": [{"ignore": True}, {"spawn": True}]})
    code = "from nbtool import Chat; import os, signal; chat = Chat('acp:claude'); chat.send('Hello.')"
    code += "; os.kill(os.getpid(), signal.SIGKILL)" if end == "is killed" else ""

    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code])

    for pid in (*seen(log, "started"), *seen(log, "spawned")):
        wait_until(lambda pid=pid: not is_alive(pid))
    assert len(seen(log, "spawned")) == 1


def wait_until(happens: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it has ended, perhaps while it is read
        return False


def everything_of_processes() -> str:
    """Give the arguments and the environment of every process that can be read."""
    found = []
    for folder in Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            try:
                found.append((folder / name).read_bytes().decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(found)
