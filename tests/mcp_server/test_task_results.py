"""Calls that take long become tasks, for clients that know them: their results are there later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation, Result

from nbtool import Approved, Chat, tool
from nbtool.mcp_server.http_server import KernelServer
from nbtool.tools.mcp.connection.task_calls import (
    TaskCreated,
    TaskExtension,
    TaskParams,
    TaskRequest,
    TaskState,
    finish_task,
)
from tests.mcp_server.clients import ListView, serve, texts


class Work:
    """A tool that ends when it may."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def work(self, n: int) -> int:
        "Work until it may end."
        assert self.may_end.wait(60)
        return 2 * n


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
    """Serve a tool that runs by itself and one that asks; every call that is not done at once becomes a task."""

    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    def make_chat() -> Chat:
        return Chat(tools=[double, tool(run="auto")(worker.work), pay])

    @tool
    def pay(amount: int) -> str:
        "Pay."
        return f"paid {amount}"

    with serve(make_chat, view) as served:
        served.handlers.tasks.inline_seconds = 0.05
        yield served


@asynccontextmanager
async def connected(server: KernelServer, name: str = "tester", *, knows: bool = True) -> AsyncIterator[Any]:
    """Connect with the official client of the newest protocol."""
    headers = {"Authorization": f"Bearer {server.address.token.get_secret_value()}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(server.address.url, http_client=http)
        extensions = [TaskExtension()] if knows else []
        info = Implementation(name=name, version="1")
        async with McpClient(transport, mode="auto", extensions=extensions, client_info=info, cache=None) as client:
            await client.list_tools()
            yield client.session


async def begin(session: Any, name: str, **arguments: Any) -> Any:
    return await session.call_tool(name, arguments, allow_claimed=True)


async def ask_about(session: Any, task: TaskCreated, method: Any = "tasks/get", kind: Any = TaskState) -> Any:
    return await session.send_request(TaskRequest(method=method, params=TaskParams(task_id=task.task_id)), kind)


async def no_answer(_: Any) -> Any:
    raise AssertionError


async def no_progress(*_: Any) -> None:
    """Ignore it."""


def test_a_call_that_takes_long_is_a_task_whose_result_comes_later(server: KernelServer, worker: Work) -> None:
    async def run() -> tuple[Any, Any, Any]:
        async with connected(server) as session:
            created = await begin(session, "work", n=4)
            before = await ask_about(session, created)
            worker.may_end.set()
            return created, before, await finish_task(session, created, no_answer, no_progress)

    created, before, result = asyncio.run(run())

    assert isinstance(created, TaskCreated)
    assert before.status == "working"
    assert texts(result)[0].startswith("8")


def test_the_result_can_be_asked_for_after_the_client_was_away(server: KernelServer, worker: Work) -> None:
    async def run() -> Any:
        async with connected(server) as session:
            created = await begin(session, "work", n=4)
        worker.may_end.set()
        async with connected(server) as session:
            return await finish_task(session, created, no_answer, no_progress)

    assert texts(asyncio.run(run()))[0].startswith("8")


@pytest.mark.promise("served")
def test_a_task_waits_for_the_persons_approval(server: KernelServer, view: ListView) -> None:
    chats: list[Chat] = []
    is_asked = threading.Event()

    def listen(_: object, chat: Chat) -> None:
        chats.append(chat)
        chat.approvals.add_listener(lambda _: is_asked.set())

    view.on_show = listen

    async def run() -> tuple[Any, Any]:
        async with connected(server) as session:
            created = await begin(session, "pay", amount=3)
            before = await ask_about(session, created)
            assert await asyncio.to_thread(is_asked.wait, 60)
            (question,) = chats[0].approvals.pending()
            chats[0].approvals.decide(question.digest, Approved())
            return before, await finish_task(session, created, no_answer, no_progress)

    before, result = asyncio.run(run())

    assert before.status == "working"
    assert texts(result)[0].startswith("paid 3")


def test_a_cancelled_task_cancels_its_call(server: KernelServer, view: ListView) -> None:
    async def run() -> Any:
        async with connected(server) as session:
            created = await begin(session, "pay", amount=3)
            await ask_about(session, created, "tasks/cancel", Result)
            await asyncio.wrap_future(view.shown[0][0].done)
            return await ask_about(session, created)

    assert asyncio.run(run()).status == "cancelled"
    assert view.shown[0][0].status == "cancelled"


@pytest.mark.promise("served")
def test_a_task_of_another_client_is_unknown(server: KernelServer) -> None:
    async def run() -> None:
        async with connected(server) as session:
            created = await begin(session, "work", n=4)
        async with connected(server, "somebody else") as session:
            for method in ("tasks/get", "tasks/cancel"):
                with pytest.raises(MCPError):
                    await ask_about(session, created, method)

    asyncio.run(run())


def test_a_quick_call_and_a_client_that_knows_no_tasks_get_results(server: KernelServer, worker: Work) -> None:
    async def run() -> tuple[Any, Any]:
        server.handlers.tasks.inline_seconds = 60
        async with connected(server) as session:
            quick = await begin(session, "double", n=4)
        server.handlers.tasks.inline_seconds = 0
        async with connected(server, "older", knows=False) as session:
            worker.may_end.set()
            return quick, await begin(session, "work", n=4)

    quick, waited = asyncio.run(run())

    assert [texts(result)[0].startswith("8") for result in (quick, waited)] == [True, True]


def test_the_results_of_only_so_many_tasks_are_kept(server: KernelServer) -> None:
    server.handlers.tasks.inline_seconds, server.handlers.tasks.most = 0, 2

    async def run() -> list[Any]:
        async with connected(server) as session:
            tasks = []
            for number in range(3):
                tasks.append(await begin(session, "double", n=number))
                await finish_task(session, tasks[-1], no_answer, no_progress)
            with pytest.raises(MCPError):
                await ask_about(session, tasks[0])
            return [await ask_about(session, task) for task in tasks[1:]]

    assert [state.status for state in asyncio.run(run())] == ["completed", "completed"]
