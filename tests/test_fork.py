"""A child that was forked after nbtool was used begins anew: what it does works or raises, and never hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.journal import journal, queries
from nbtool.errors import McpFailed
from nbtool.threads.loop import background_loop, run_sync
from nbtool.tools.mcp import mcp_servers
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.toolsets import html_text, web
from nbtool.wire.endpoints.model_endpoint import list_models
from nbtool.wire.transport import traffic
from tests.shells import end_shell, new_shell

pytestmark = [
    pytest.mark.promise("stops"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no forks"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

CHILD_SECONDS = 40
"""How long a child may take; it hangs for ever, or is done in a second."""


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


@tool(run="auto")
async def later(n: int) -> int:
    "Twice a number, later."
    await asyncio.sleep(0)
    return 2 * n


def in_child(work: Callable[[], object]) -> str:
    """Fork, do some work in the child, and give what it says: `ok`, an error's type, or `hung`."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        said = "ok"
        try:
            threading.Timer(CHILD_SECONDS, os._exit, (9,)).start()
            work()
        except BaseException as error:  # noqa: BLE001 - whatever the child raises is told
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(writes, said.encode()[:1_000])
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as actual:
        said = actual.read().decode()
    _, status = os.waitpid(child, 0)
    return said or f"hung ({status})"


@pytest.fixture(scope="module")
def used_chat() -> Chat:
    """Give a chat that was used in this process: its loop, its workers, its journal and its practice model run."""
    chat = Chat("practice:fast", tools=[double, later])
    assert chat.send("Double 21 with `double`.").status == "completed"
    assert chat.send("Double 4 with `later`.").status == "completed"
    return chat


def send(chat: Chat) -> None:
    assert chat.send("Double 4 with `double`.").status == "completed"


def send_with_async_tool(chat: Chat) -> None:
    assert chat.send("Double 4 with `later`.").status == "completed"


def send_in_a_loop(chat: Chat) -> None:
    async def ask() -> None:
        assert (await chat.start("Hello")).status == "completed"

    asyncio.run(ask())


def new_chat(_: Chat) -> None:
    assert Chat("practice:fast", tools=[double]).send("Double 4 with `double`.").calls[0].result == 8


def map_prompts(_: Chat) -> None:
    assert len(Chat("practice:fast").map(["a", "b", "c"])) == 3


def change_the_tree(chat: Chat) -> None:
    chat.hide()
    chat.show()


def look_at_models(_: Chat) -> None:
    assert run_sync(list_models("practice"))


def read_the_journal(chat: Chat) -> None:
    send(chat)
    assert journal().read(lambda connection: queries.list_chats(connection, 1))


def count_what_left(_: Chat) -> None:
    assert traffic.totals()


def print_nothing(_: Chat) -> None:
    with suppress_output():
        print("nothing")  # noqa: T201 - what is swallowed


def run_a_cell(_: Chat) -> None:
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    assert shell.run_cell("%%chat -q -m practice:fast\nHello").success
    assert shell.run_cell("%chat history").success
    end_shell()


def make_a_toolset(_: Chat) -> None:
    assert web().tools()
    assert html_text.read_html(b"<p>x", "http://x", links=False)[1] == "x"


ENTRIES = [
    send, send_with_async_tool, send_in_a_loop, new_chat, map_prompts, change_the_tree, look_at_models,
    read_the_journal, count_what_left, print_nothing, run_a_cell, make_a_toolset,
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
def test_what_a_forked_child_does_with_nbtool_works(used_chat: Chat, entry: Callable[[Chat], object]) -> None:
    assert in_child(lambda: entry(used_chat)) == "ok"
    assert used_chat.send("And here?").status == "completed"


LOCKS = {
    "ledger": "nbtool.wire.transport.traffic",
    "suppress_output": "nbtool.tools.values.output_suppression",
    "practice": "nbtool.practice",
}


@pytest.mark.parametrize("module", LOCKS.values(), ids=LOCKS)
def test_a_lock_that_a_thread_held_at_the_fork_is_free_in_the_child(used_chat: Chat, module: str) -> None:
    lock = sys.modules[module]._lock
    held, goes_on = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            goes_on.wait(CHILD_SECONDS)

    threading.Thread(target=hold, daemon=True).start()
    assert held.wait(240)
    try:
        assert in_child(lambda: send(used_chat)) == "ok"
    finally:
        goes_on.set()


@contextmanager
def running_turn() -> Iterator[tuple[Chat, Any]]:
    started, goes_on = threading.Event(), threading.Event()

    @tool(run="auto")
    def wait() -> str:
        "Wait for a signal."
        started.set()
        goes_on.wait(CHILD_SECONDS)
        return "done"

    chat = Chat("practice:fast", tools=[wait, double])
    turn = chat.start("Call `wait`.").start()
    assert started.wait(240)
    try:
        yield chat, turn
    finally:
        goes_on.set()
        assert turn.done.result(240).status == "completed"


def test_a_turn_that_runs_at_the_fork_has_ended_in_the_child_and_goes_on_in_its_process() -> None:
    with running_turn() as (chat, turn):

        def look() -> None:
            assert turn.done.result(240).status == "cancelled"
            assert "fork" in str(turn.error)
            asyncio.run(await_turn(turn))
            turn.cancel()
            assert chat.send("Double 4 with `double`.").status == "completed"

        assert in_child(look) == "ok"


async def await_turn(turn: Any) -> None:
    assert (await turn).status == "cancelled"


def test_an_mcp_server_of_the_other_process_is_refused_at_once() -> None:
    server = Path(__file__).parent / "tools" / "mcp" / "friendly_server.py"
    servers = mcp_servers({"mcpServers": {"one": {"command": sys.executable, "args": [str(server)]}}})
    with servers:
        connection = servers["one"]._connection

        def ask() -> None:
            with pytest.raises(McpFailed, match="fork"):
                run_sync(connection.list_tools())

        assert in_child(ask) == "ok"


@pytest.mark.usefixtures("used_chat")
def test_a_stopped_child_leaves_the_loop_of_its_parent_alone() -> None:
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    assert background_loop().submit(asyncio.sleep(0, "here")).result(240) == "here"
