"""Clients of 2025-11-25 that want a call as a task: they ask for its state and its result by requests of their own.

The package `mcp` knows no such tasks, so its client is not used: the requests are written out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from nbtool import Approved, Chat, tool
from nbtool.mcp_server.http_server import KernelServer
from tests.mcp_server.clients import ListView, serve
from tests.mcp_server.test_task_results import Work


class EarlierClient:
    """A client of one version of the protocol."""

    def __init__(self, server: KernelServer, name: str = "tester", version: str = "2025-11-25") -> None:
        self._url = server.address.url
        self._headers = {
            "Authorization": f"Bearer {server.address.token.get_secret_value()}",
            "Accept": "application/json, text/event-stream",
        }
        self._count = 0
        about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        self.offered = self.ask("initialize", **about)["capabilities"]
        self._headers["MCP-Protocol-Version"] = version
        self._post({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request, or its error."""
        self._count += 1
        lines = self._post({"id": self._count, "method": method, "params": params}).splitlines()
        messages = [json.loads(line.removeprefix("data:")) for line in lines if line.startswith(("data: {", "{"))]
        (answer,) = (message for message in messages if message.get("id") == self._count)
        return answer.get("result", answer.get("error"))

    def begin(self, name: str, **arguments: Any) -> Any:
        """Call a tool as a task, and return that."""
        return self.ask("tools/call", name=name, arguments=arguments, task={"ttl": 60_000})["task"]

    def _post(self, message: dict[str, Any]) -> str:
        answer = httpx2.post(self._url, json={"jsonrpc": "2.0", **message}, headers=self._headers, timeout=60)
        if session := answer.headers.get("mcp-session-id"):
            self._headers["Mcp-Session-Id"] = session
        return answer.text


@pytest.fixture
def worker() -> Iterator[Work]:
    work = Work()
    yield work
    work.may_end.set()


@pytest.fixture
def view() -> ListView:
    return ListView()


@pytest.fixture
def server(worker: Work, view: ListView) -> Iterator[KernelServer]:
    @tool
    def pay(amount: int) -> str:
        "Pay."
        return f"paid {amount}"

    @tool(run="auto")
    def fail() -> None:
        "Fail."
        raise ValueError("the disk is full")

    with serve(lambda: Chat(tools=[tool(run="auto")(worker.work), pay, fail]), view) as served:
        yield served


def first_text(result: Any) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.promise("served")
def test_a_client_begins_a_task_and_gets_its_result_later_also_after_it_was_away(
    server: KernelServer, worker: Work
) -> None:
    client = EarlierClient(server)
    task = client.begin("work", n=4)
    state = client.ask("tasks/get", taskId=task["taskId"])
    worker.may_end.set()
    again = EarlierClient(server)
    result = again.ask("tasks/result", taskId=task["taskId"])

    assert client.offered["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}
    assert (task["status"], state["status"], state["pollInterval"] > 0) == ("working", "working", True)
    assert first_text(result).startswith("8")
    assert result["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": task["taskId"]}}
    assert again.ask("tasks/get", taskId=task["taskId"])["status"] == "completed"


def test_a_result_is_awaited_until_a_person_has_decided(server: KernelServer, view: ListView) -> None:
    asked = threading.Event()
    view.on_show = lambda _, chat: chat.approvals.add_listener(lambda _: asked.set())
    client = EarlierClient(server)
    task = client.begin("pay", amount=3)
    with ThreadPoolExecutor(1) as pool:
        awaited = pool.submit(client.ask, "tasks/result", taskId=task["taskId"])
        assert asked.wait(60)
        chat = server.handlers.clients["tester"].chat
        (question,) = chat.approvals.pending()
        chat.approvals.decide(question.digest, Approved())

        assert first_text(awaited.result(60)).startswith("paid 3")


def test_a_call_that_fails_is_a_task_that_failed_whose_result_says_why(server: KernelServer) -> None:
    client = EarlierClient(server)
    task = client.begin("fail")
    result = client.ask("tasks/result", taskId=task["taskId"])

    assert result["isError"]
    assert "disk" in first_text(result)
    assert client.ask("tasks/get", taskId=task["taskId"])["status"] == "failed"


@pytest.mark.promise("served")
def test_a_cancelled_task_cancels_its_call_and_cannot_be_cancelled_again(server: KernelServer, view: ListView) -> None:
    client = EarlierClient(server)
    task = client.begin("pay", amount=3)
    cancelled = client.ask("tasks/cancel", taskId=task["taskId"])

    assert cancelled["status"] == "cancelled"
    assert view.shown[0][0].done.result(60).status == "cancelled"
    assert client.ask("tasks/cancel", taskId=task["taskId"])["code"] == -32602
    assert client.ask("tasks/result", taskId=task["taskId"])["code"] == -32602


@pytest.mark.promise("served")
def test_a_task_of_2025_of_another_client_is_unknown(server: KernelServer) -> None:
    task = EarlierClient(server).begin("work", n=4)
    other = EarlierClient(server, "somebody else")

    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert other.ask(method, taskId=task["taskId"])["code"] == -32602


def test_a_client_of_an_older_protocol_is_offered_no_tasks_and_gets_its_result(
    server: KernelServer, worker: Work
) -> None:
    worker.may_end.set()
    client = EarlierClient(server, version="2025-06-18")
    (listed, *_) = client.ask("tools/list")["tools"]

    assert "tasks" not in client.offered
    assert "execution" not in listed
    assert first_text(client.ask("tools/call", name="work", arguments={"n": 4}, task={})).startswith("8")


def test_a_call_without_a_task_is_answered_as_before(server: KernelServer, worker: Work) -> None:
    worker.may_end.set()
    client = EarlierClient(server)

    assert first_text(client.ask("tools/call", name="work", arguments={"n": 4})).startswith("8")
    assert client.ask("tools/list")["tools"][0]["execution"] == {"taskSupport": "optional"}


@pytest.mark.parametrize("params", [{"task": 5}, {"task": {}, "name": 5}, {"task": {}, "arguments": []}])
def test_a_malformed_call_as_a_task_is_an_error_and_no_call(
    server: KernelServer, view: ListView, params: dict[str, Any]
) -> None:
    answer = EarlierClient(server).ask("tools/call", **{"name": "work", "arguments": {"n": 4}, **params})

    assert answer["code"] == -32602
    assert view.shown == []
