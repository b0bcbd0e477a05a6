"""Clients of others use a served notebook: fastmcp, the inspector and Codex."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Progress, tool
from nbtool.chat.turn import Turn
from nbtool.messages import Media
from tests.mcp_server.clients import ListView, serve
from tests.mcp_server.codex import INSTALLED, NAMESPACE, finished_calls, start_codex, texts_of
from tests.mcp_server.programs import SECONDS, fastmcp, inspector, printed, typescript
from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.samples import PNG

CALL = ("--method", "tools/call", "--tool-name")
MODERN = ("--protocol-era", "modern")
"""The revision 2026-07-28 of the protocol: over HTTP a client that ends has given up, which older ones do not say."""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(300),  # each program starts Node, Rust or Python anew
    pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=mcp-clients` installs other clients."),
]


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


released = threading.Event()


@tool(run="auto", thread=True)
def late() -> str:
    """Wait for the test."""
    released.wait(SECONDS)
    return "done"


@tool(run="auto")
async def hang() -> AsyncIterator[Progress]:
    """Say that it runs, and wait for ever."""
    yield Progress("waiting")
    await asyncio.Event().wait()


@dataclass
class SignallingView(ListView):
    """A view that says when a call has reached the notebook."""

    is_shown: threading.Event = field(default_factory=threading.Event)

    def show(self, turn: Turn, chat: Chat, client: str) -> None:
        super().show(turn, chat, client)
        turn.add_listener(lambda event: event.kind == "call_started" and self.is_shown.set())

    def end_of_last(self) -> str:
        """Wait for the end of the call that was shown last, and return its status."""
        return str(self.shown[-1][0].done.result(SECONDS).status)


@pytest.fixture
def view() -> SignallingView:
    released.clear()
    return SignallingView(asks=False)


@pytest.fixture
def served(view: ListView) -> Iterator[Any]:
    with serve(lambda: Chat(tools=[double, chart, pay, steps, hang, late]), view) as server:
        yield server


def test_the_client_of_fastmcp_lists_calls_gets_an_image_and_progress_is_denied_and_gives_up(
    served: Any, view: SignallingView
) -> None:
    said = printed(fastmcp(*endpoint(served, "http")))

    assert said["tools"][:3] == ["double", "chart", "pay"]
    assert said["called"] == "8"
    assert "image" in said["image"]
    assert (said["denied"][0], "paid" in said["denied"][1]) == (True, False)
    assert said["progress"] == ["half\n"]
    assert said["late"]
    late, cancelled = (turn for turn, _ in view.shown[-2:])
    assert [turn.done.result(SECONDS).status for turn in (late, cancelled)] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("does", ["wait", "cancel"])
def test_the_client_of_the_typescript_sdk_calls_a_tool_as_a_task_and_waits_or_cancels_it(
    served: Any, view: SignallingView, tmp_path: Path, does: str
) -> None:
    address = endpoint(served, "http")
    process = typescript(tmp_path, *address, "late", does)
    if does == "wait":
        assert view.is_shown.wait(SECONDS)
        assert process.stderr
        assert process.stderr.readline() == "created\n"
        released.set()
    said = printed(process)
    released.set()

    assert said["seen"][0] == "taskCreated"
    assert said["text"].startswith("done" if does == "wait" else "cancelled")
    assert view.end_of_last() == ("completed" if does == "wait" else "cancelled")


TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stdio"])


@TRANSPORTS
def test_the_inspector_lists_calls_gets_an_image_and_is_denied(served: Any, transport: str) -> None:
    address = endpoint(served, transport)
    listed = printed(inspector(*address, "--method", "tools/list"))
    called = printed(inspector(*address, *CALL, "double", "--tool-arg", "n=4"))
    image = printed(inspector(*address, *CALL, "chart"))
    denied = inspector(*address, *CALL, "pay", "--tool-arg", "amount=3")
    said, _ = denied.communicate(timeout=SECONDS)

    assert [one["name"] for one in listed["tools"]][:3] == ["double", "chart", "pay"]
    assert called["content"][0]["text"] == "8"
    assert "image/png" in [one.get("mimeType") for one in image["content"]]
    assert "Nobody" in said
    assert "paid" not in said


@pytest.mark.parametrize(
    ("program", "transport", "words"),
    [("inspector", "stdio", ()), ("inspector", "http", MODERN), ("codex", "stdio", ()), ("codex", "http", ())],
)
def test_a_program_that_is_interrupted_during_its_call_cancels_it_in_the_notebook(
    served: Any, view: SignallingView, tmp_path: Path, program: str, transport: str, words: tuple[str, ...]
) -> None:
    address = endpoint(served, transport)
    with simulate("openai", Answer("", (("hang", {}),), namespace=NAMESPACE), Answer("Done."), behaviours=()) as model:
        process = (
            inspector(*address, *words, *CALL, "hang")
            if program == "inspector"
            else start_codex(tmp_path, model, *address)
        )
        assert view.is_shown.wait(SECONDS)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)

    assert view.end_of_last() == "cancelled"


def test_a_call_of_the_inspector_that_reaches_its_deadline_is_cancelled_in_the_notebook(
    served: Any, view: SignallingView
) -> None:
    """Its deadline is that of its library, 60 s: no flag of its command line changes it."""
    process = inspector(*endpoint(served, "stdio"), *CALL, "hang")
    said, complaints = process.communicate(timeout=2 * SECONDS)

    assert process.returncode != 0
    assert "timed out" in (said + complaints).lower()
    assert view.end_of_last() == "cancelled"


def test_a_call_of_the_inspector_that_takes_long_is_a_task_whose_result_it_asks_for(
    served: Any, view: SignallingView
) -> None:
    process = inspector(*endpoint(served, "http"), *MODERN, *CALL, "late")
    assert view.is_shown.wait(SECONDS)
    while not served.handlers.tasks.count:
        assert process.poll() is None
        threading.Event().wait(0.05)
    released.set()

    assert printed(process)["content"][0]["text"] == "done"
    assert view.end_of_last() == "completed"


def endpoint(served: Any, transport: str) -> tuple[str, str]:
    """Return the address and the token for a program; neither over stdio."""
    return (served.address.url, served.address.token.get_secret_value()) if transport == "http" else ("", "")


@TRANSPORTS
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
    assert "paid" not in texts_of(calls["pay"])[0]
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


@TRANSPORTS
def test_a_call_of_codex_that_reaches_its_deadline_is_cancelled_in_the_notebook(
    served: Any, view: SignallingView, tmp_path: Path, transport: str
) -> None:
    with simulate("openai", Answer("", (("hang", {}),), namespace=NAMESPACE), Answer("Done."), behaviours=()) as model:
        calls = finished_calls(start_codex(tmp_path, model, *endpoint(served, transport), tool_seconds=5))

    assert calls["hang"]["status"] == "failed"
    assert "timed out" in calls["hang"]["error"]["message"]
    assert view.end_of_last() == "cancelled"
