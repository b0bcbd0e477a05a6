from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.mcp_server.bridge import NOT_SERVED
from nbtool.settings import data_dir
from tests.mcp_server.clients import ListView, serve, texts


@tool(run="auto")
def double(n: int) -> int:
    """Return twice a number."""
    return 2 * n


def test_a_client_that_starts_a_process_uses_the_notebook_without_a_token_in_its_configuration() -> None:
    async def use() -> tuple[list[str], Any]:
        with serve(lambda: Chat(tools=[double])):
            parameters = StdioServerParameters(
                command=sys.executable, args=["-m", "nbtool.mcp_server.bridge"], env={"NBTOOL_HOME": str(data_dir())}
            )
            async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                tools = await session.list_tools()
                return [one.name for one in tools.tools], await session.call_tool("double", {"n": 21})

    names, result = asyncio.run(use())

    assert "double" in names
    assert texts(result)[0] == "42"


@pytest.mark.sampled(0)
def test_the_calls_of_a_client_that_ends_are_cancelled_and_their_questions_withdrawn() -> None:
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    is_asked = threading.Event()

    def on_show(turn: Turn, _: Chat) -> None:
        turn.add_listener(lambda event: event.kind == "call_asked" and is_asked.set())

    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "pay", "arguments": {"amount": 3}}},
    ]
    view = ListView(on_show=on_show)
    with serve(lambda: Chat(tools=[pay]), view) as server:
        client = subprocess.Popen(
            [sys.executable, "-m", "nbtool.mcp_server.bridge"],
            env={**os.environ, "NBTOOL_HOME": str(data_dir())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdin
        assert client.stdout
        for message in messages:
            client.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            client.stdin.flush()
            if message.get("id") == 1:
                client.stdout.readline()
        assert is_asked.wait(240)
        opened = psutil.Process(client.pid).net_connections("all")
        client.stdin.close()
        turn = view.shown[0][0]
        status = turn.done.result(240).status
        client.stdout.close()
        assert client.wait(240) == 0

    assert (status, turn.calls[0].status) == ("cancelled", "cancelled")
    assert opened
    assert [one for one in opened if one.status == psutil.CONN_LISTEN] == []  # nothing for a web page to reach
    assert {one.raddr for one in opened if one.raddr} == {("127.0.0.1", server.port)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("message", [{"id": 2, "method": "ping"}, {"method": "notifications/roots/list_changed"}])
def test_the_command_ends_with_one_line_once_the_notebook_no_longer_serves(message: dict[str, Any]) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    command = [sys.executable, "-m", "nbtool.mcp_server.bridge"]
    environment = {**os.environ, "NBTOOL_HOME": str(data_dir())}
    pipe = subprocess.PIPE
    with (
        serve(lambda: Chat(tools=[double])) as server,
        subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as client,
    ):
        assert client.stdin
        assert client.stdout
        assert client.stderr
        for first in ({"id": 1, "method": "initialize", "params": about}, {"method": "notifications/initialized"}):
            client.stdin.write(json.dumps({"jsonrpc": "2.0", **first}) + "\n")
        client.stdin.flush()
        client.stdout.readline()
        server.stop()
        client.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        client.stdin.flush()  # standard input stays open, as with a client that waits

        assert client.wait(240) == 1
        assert client.stderr.read() == f"{NOT_SERVED}\n"
        answers = [json.loads(line) for line in client.stdout.read().splitlines()]
    assert [one["error"]["message"] for one in answers] == [NOT_SERVED] * ("id" in message)


def test_the_example_of_the_documentation_connects_over_http_with_the_token_that_the_command_prints() -> None:
    @tool(run="auto")
    def mean_mass(table: list[float]) -> float:
        """Return the mean mass."""
        return sum(table) / len(table)

    def chat() -> Chat:
        made = Chat(tools=[mean_mass])
        made.expose(penguins=[3000.0, 4001.0])
        return made

    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    search_path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with serve(chat):
        done = subprocess.run(
            [sys.executable, "-c", example],
            env={**os.environ, "NBTOOL_HOME": str(data_dir()), "PATH": search_path},
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "mean_mass" in done.stdout
    assert "3500.5" in done.stdout
