"""What is read where a notebook is served: by the person, by the programs that are its clients, and by other ones."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Approved, Chat, Denied, Withheld, tool
from nbtool.chat.turn import Turn
from nbtool.magics.views.served import ServedView
from nbtool.mcp_server.bridge import main
from nbtool.mcp_server.handlers import MAX_CLIENTS
from nbtool.messages import Media
from nbtool.toolsets.notebook_tools import notebook
from tests.magics.commands.test_serve import call_tool, kernel_chats, server_of
from tests.magics.conftest import CELLS
from tests.mcp_server.clients import ListView, connect, serve, texts
from tests.mcp_server.test_client_calls import decide_by, double, pay
from tests.samples import PNG
from tests.words.conftest import Page

pytestmark = pytest.mark.usefixtures("own_journal")
BRIDGE = re.compile(r"[^\s\"`]*nbtool-mcp")
Texts = dict[str, str]


@pytest.fixture
def served(page: Page) -> Iterator[Page]:
    """Give the page of a shell with two tools and an object, which serves nothing at the end."""
    page.run_unseen(CELLS)
    yield page
    page.run_unseen("%chat serve --stop")


def masked(texts: Texts) -> Texts:
    """Return the texts without the path of the program that clients start."""
    return {title: BRIDGE.sub("nbtool-mcp", text) for title, text in texts.items()}


def test_the_command(served: Page, snapshot: SnapshotAssertion) -> None:
    served.run("%chat serve")
    served.run("%chat serve -t double rows -v frame")
    server = server_of(served.shell)
    served.run("%chat serve", "%chat serve, before a client came")
    served.run("%chat serve -t double")
    call_tool(server, "double", {"n": 4})
    call_tool(server, "ReadVar", {"name": "frame"})
    call_tool(server, "rows", {"frame": "$VAR_REF{{frame}}"})
    call_tool(server, "invented", {})
    server.access.refused = 1
    served.run("%chat serve", "%chat serve, after calls, and a request without the token")
    status = served.run_unseen("%chat status")
    served.texts["%chat status, in part"] = status[status.index("served at") : status.index("replay ")]
    served.run("%chat -c mcp:agent history")
    served.run("%chat serve --stop")
    served.run("%chat serve", "%chat serve, after it was stopped")
    served.run("%chat serve --stop")
    served.run("%chat -c mcp:agent new")
    served.run("%chat -c mcp:agent history")

    assert masked(served.texts) == snapshot


def test_wrong_lines(served: Page, snapshot: SnapshotAssertion) -> None:
    for line in (
        "-t no_such_tool", "-v no_such_name", "--prot 1", "-t double --port 99999", "-t double --answer-within x",
        "-t double --answer-within -1",
    ):  # fmt: skip
        served.run(f"%chat serve {line}")
    served.run("import nbtool; nbtool.serve(double, read='nothing')")

    assert {title: last_line(text) for title, text in served.texts.items()} == snapshot


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


def test_images(served: Page, snapshot: SnapshotAssertion) -> None:
    source = "from nbtool.messages import Media\n@tool(run='auto')\ndef chart() -> Media:\n    'Draw.'\n"
    served.run_unseen(f"{source}    return Media('image/png', data={PNG!r})")
    served.run_unseen("%chat serve -t chart")
    call_tool(server_of(served.shell), "chart", {})
    served.run("%chat serve", "%chat serve, after an image was returned")

    assert masked(served.texts) == snapshot


def test_a_question(served: Page, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    served.run_unseen("%chat serve -v frame -t double")
    server, is_asked = server_of(served.shell), threading.Event()
    monkeypatch.setattr(ServedView, "can_ask", lambda _: True)
    call_tool(server, "double", {"n": 4})
    approvals = kernel_chats(served.shell).chats["mcp:agent"].approvals
    approvals.add_listener(lambda change: change.kind == "asked" and is_asked.set())
    with ThreadPoolExecutor() as pool:
        result = pool.submit(call_tool, server, "ReadVar", {"name": "frame"})
        assert is_asked.wait(240)
        digest = served.run("%chat approvals").split()[0]
        served.run(f"%chat deny {digest} private")
        served.texts["the client reads"] = "\n".join(texts(result.result(240)))

    assert {title.replace(digest, "ID"): text.replace(digest, "ID") for title, text in served.texts.items()} == snapshot


def test_a_program_that_finds_no_served_notebook(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main([]) == 1

    assert {"nbtool-mcp": capsys.readouterr().err} == snapshot


@tool(run="auto")
def chart() -> Media:
    """Draw."""
    return Media("image/png", data=PNG)


@tool(run="auto")
def fail() -> None:
    """Fail."""
    raise ValueError("no limit for DE89")


def answer_of(
    called: str,
    /,
    *tools: Any,
    view: ListView | None = None,
    seconds: float = 300,
    exposed: Any = None,
    **arguments: Any,
) -> str:
    """Return what a client gets for a call, and the last sentence of its turn in the notebook."""
    view = view or ListView(asks=False)

    def make_chat() -> Chat:
        chat = Chat(tools=list(tools))
        chat.expose(**(exposed or {}))
        return chat

    async def use() -> Any:
        with serve(make_chat, view, seconds=seconds) as server:
            async with connect(server) as session:
                return await session.call_tool(called, arguments)

    result = asyncio.run(use())
    kind = "error: " if result.is_error else ""
    return "\n".join([kind + "\n".join(texts(result)), *(f"in the notebook: {turn.text}" for turn, _ in view.shown)])


def test_what_a_client_reads(snapshot: SnapshotAssertion) -> None:
    withheld = decide_by(lambda asked: Approved() if asked.gate == "run" else Withheld("too much"))
    answers = {
        "a result": answer_of("double", double, n=4),
        "an image": answer_of("chart", chart),
        "an error of the tool": answer_of("fail", fail),
        "a tool that is not there": answer_of("triple", double, n=4),
        "arguments that do not fit": answer_of("double", double, n="x"),
        "a call that was denied": answer_of("pay", pay, view=decide_by(lambda _: Denied("too dear")), amount=3),
        "a result that was withheld": answer_of("pay", tool(pay, result="always"), view=withheld, amount=3),
        "nobody can be asked": answer_of("pay", pay, amount=3),
        "nobody answers in time": answer_of("pay", pay, view=ListView(), seconds=0.05, amount=3),
        "a cell is read": answer_of("read_cell", notebook(), view=ListView(), cell="one"),
        "a variable by reference only is read": answer_of("ReadVar", double, exposed={"key": "secret"}, name="key"),
    }

    assert answers == snapshot


def test_what_a_client_reads_of_variables(snapshot: SnapshotAssertion) -> None:
    def make_chat() -> Chat:
        chat = Chat(tools=[double])
        chat.expose(closed="secret of the lab")
        chat.expose(read=True, open="known to all")
        return chat

    async def use() -> Texts:
        with serve(make_chat, ListView(asks=False)) as server:
            async with connect(server) as session:
                listed = (await session.list_resources()).resources
                read = [(await session.read_resource(one.uri)).contents[0].text for one in listed]
        described = {f"listed: {one.name}": str(one.description) for one in listed}
        return described | {f"read: {one.name}": text for one, text in zip(listed, read, strict=True)}

    assert asyncio.run(use()) == snapshot


@pytest.mark.sampled(0)
def test_too_much_at_once_and_the_end(snapshot: SnapshotAssertion) -> None:
    release, are_asked = threading.Event(), threading.Event()

    @tool(run="auto")
    async def hold(n: int) -> int:
        """Wait."""
        await asyncio.to_thread(release.wait, 240)
        return n

    def on_show(turn: Turn, _: Chat) -> None:
        turn.add_listener(lambda event: event.kind == "call_asked" and are_asked.set())

    async def call_too_often() -> str:
        with serve(lambda: Chat(tools=[hold]), places=2) as server:
            async with connect(server) as session:
                calls = [asyncio.create_task(session.call_tool("hold", {"n": n})) for n in range(17)]
                refused, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                release.set()
                await asyncio.gather(*calls)
        return texts(refused.pop().result())[0]

    async def stop_before_an_answer() -> str:
        view = ListView(on_show=on_show)
        with serve(lambda: Chat(tools=[pay]), view) as server:
            async with connect(server) as session:
                calling = asyncio.create_task(session.call_tool("pay", {"amount": 3}))
                assert await asyncio.to_thread(are_asked.wait, 240)
                await asyncio.to_thread(server.stop)
                answer = texts(await calling)[0]
        return f"{answer}\nin the notebook: {view.shown[0][0].done.result(240).status}"

    async def come_too_many() -> str:
        with serve(lambda: Chat(tools=[double])) as server:
            for number in range(MAX_CLIENTS + 1):
                async with connect(server, f"client {number}") as session:
                    result = await session.call_tool("double", {"n": 1})
        return texts(result)[0]

    answers = {
        "17 calls at once": asyncio.run(call_too_often()),
        "it stops serving while a call is asked about": asyncio.run(stop_before_an_answer()),
        "a client too many": asyncio.run(come_too_many()),
    }

    assert answers == snapshot
