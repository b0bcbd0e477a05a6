"""Situations of public reports about calls that are tasks by MCP's protocol of 2025-11-25, as they are here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.mcp_server.http_server import KernelServer
from tests.mcp_server.clients import serve
from tests.mcp_server.test_earlier_tasks import EarlierClient, first_text
from tests.tools.mcp.test_tasks import earlier_server, run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "requests.txt"


@pytest.fixture
def server() -> Iterator[KernelServer]:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    with serve(lambda: Chat(tools=[double])) as served:
        yield served


def test_a_tool_that_requires_a_task_is_called_as_one(log: Path) -> None:
    """github/copilot-cli#2538: such a call was refused. Right: it is a task. Before: wrong."""
    with earlier_server(log) as servers:
        assert run(servers, "later").status == "ok"


def test_a_server_asks_while_its_result_is_awaited(log: Path) -> None:
    """modelcontextprotocol/inspector#1174: only a task that had ended was asked. Right: it asks. Before: wrong."""

    def answer(question: Any) -> Approved:
        return Approved({"name": "Ada"}) if question.is_form else Approved()

    with earlier_server(log) as servers:
        assert "Ada" in run(servers, "asking", answer).result


def test_a_task_that_nobody_asked_for_is_awaited(log: Path) -> None:
    """sipyourdrink-ltd/bernstein#3103: a plain call became a task. Right: its result is read. Before: wrong."""
    with earlier_server(log, "always") as servers:
        assert run(servers, "later").result == "did later"


def test_a_plain_call_of_a_client_that_knows_tasks_gets_its_result(server: KernelServer) -> None:
    """sipyourdrink-ltd/bernstein#3103: a client that knew tasks got one. Right: its result. Before: right."""
    client = EarlierClient(server)

    assert first_text(client.ask("tools/call", name="double", arguments={"n": 4})).startswith("8")


def test_tools_say_that_they_may_be_called_as_tasks(server: KernelServer) -> None:
    """modelcontextprotocol/python-sdk#2156: no tool could say so. Right: optional. Before: wrong."""
    (listed, *_) = EarlierClient(server).ask("tools/list")["tools"]

    assert listed["execution"] == {"taskSupport": "optional"}


def test_a_task_without_fields_for_its_time_is_one(server: KernelServer) -> None:
    """ScriptedAlchemy/agent-bundle#550: only an object makes a task of a call. Right: also `{}`. Before: wrong."""
    client = EarlierClient(server)
    task = client.ask("tools/call", name="double", arguments={"n": 4}, task={})["task"]

    assert first_text(client.ask("tasks/result", taskId=task["taskId"])).startswith("8")
