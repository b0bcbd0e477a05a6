from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from nbtool import Approved, Chat, Denied, Progress, Released, Withheld, tool
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.messages import Media
from nbtool.plugins import Privacy
from nbtool.tools.approval import Question
from nbtool.toolsets.notebook_tools import notebook
from tests.mcp_server.clients import ListView, connect, serve, texts
from tests.samples import PNG


@tool(run="auto")
def double(n: int) -> int:
    """Return twice a number."""
    return 2 * n


def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def decide_by(decide: Any) -> ListView:
    """Return a view whose person decides every question."""
    view = ListView()

    def on_show(_: Turn, chat: Chat) -> None:
        view.on_show = lambda _turn, _chat: None  # one listener is enough

        def listen(change: Any) -> None:
            if change.kind == "asked":
                question = change.question
                threading.Thread(
                    target=lambda: chat.approvals.decide(question.digest, decide(question), by="button")
                ).start()

        chat.approvals.add_listener(listen)

    view.on_show = on_show
    return view


def test_a_call_returns_what_a_model_would_receive_and_the_name_of_its_result() -> None:
    view = ListView()

    async def use() -> Any:
        with serve(lambda: Chat(tools=[double]), view) as server:
            async with connect(server) as session:
                return await session.call_tool("double", {"n": 4})

    result = asyncio.run(use())

    assert not result.is_error
    assert texts(result) == ["8", "Kept as $VAR_REF{{double_1_result}}."]
    assert [(turn.status, client) for turn, client in view.shown] == [("completed", "tester")]
    assert all(part in view.shown[0][0].text for part in ("returned", "tester"))


def test_a_result_is_handed_on_by_reference_and_never_through_the_client() -> None:
    received: list[object] = []

    class Frame:
        def __repr__(self) -> str:
            return "<frame>"

    frame = Frame()

    @tool(run="auto")
    def load() -> object:
        """Load."""
        return frame

    @tool(run="auto")
    def rows(table: object) -> int:
        """Count."""
        received.append(table)
        return 3

    async def use() -> Any:
        with serve(lambda: Chat(tools=[load, rows])) as server:
            async with connect(server) as session:
                await session.call_tool("load", {})
                return await session.call_tool("rows", {"table": "$VAR_REF{{load_1_result}}"})

    assert texts(asyncio.run(use()))[0] == "3"
    assert received[0] is frame


@pytest.mark.promise("served")
def test_the_person_decides_on_a_call_and_on_a_result_and_the_client_reads_why() -> None:
    asked: list[Question] = []

    def decide(question: Question) -> Any:
        asked.append(question)
        if question.gate == "result":
            return Withheld("too much")
        return Approved() if question.arguments["amount"] < 10 else Denied("too dear")

    paying = tool(pay, result="always")

    view = decide_by(decide)

    async def use() -> list[Any]:
        with serve(lambda: Chat(tools=[paying]), view) as server:
            async with connect(server) as session:
                return [await session.call_tool("pay", {"amount": amount}) for amount in (3, 30)]

    withheld, denied = asyncio.run(use())

    assert [(question.gate, question.recipient) for question in asked] == [
        ("run", ""),
        ("result", "tester"),
        ("run", ""),
    ]
    assert (withheld.is_error, "too much" in texts(withheld)[0], "paid" in str(withheld)) == (False, True, False)
    assert (denied.is_error, "too dear" in texts(denied)[0]) == (True, True)
    assert [[one.status for one in turn.calls] for turn, _ in view.shown] == [["withheld"], ["denied"]]
    assert [("tester" in turn.text, turn.calls[0].status in turn.text) for turn, _ in view.shown] == [(True, True)] * 2


@pytest.mark.promise("served")
def test_where_nobody_can_be_asked_a_call_is_denied_and_a_question_has_an_end() -> None:
    async def use(view: ListView, seconds: float) -> Any:
        with serve(lambda: Chat(tools=[pay]), view, seconds=seconds) as server:
            async with connect(server) as session:
                result = await session.call_tool("pay", {"amount": 3})
        ((turn, _),) = view.shown
        assert [one.status for one in turn.calls] == ["denied"]
        return result

    nobody = asyncio.run(use(ListView(asks=False), 300))
    late = asyncio.run(use(ListView(), 0.05))

    assert (nobody.is_error, "0.05 s" in texts(nobody)[0]) == (True, False)
    assert (late.is_error, "0.05 s" in texts(late)[0]) == (True, True)


@pytest.mark.promise("served")
def test_a_variable_that_is_exposed_by_reference_is_read_only_if_the_person_releases_it() -> None:
    secret, known = "secret of the lab", "known to all"

    def chat() -> Chat:
        made = Chat(tools=[double])
        made.expose(closed=secret)
        made.expose(read=True, open=known)
        return made

    async def use(decision: Any) -> list[Any]:
        with serve(chat, decide_by(lambda _: decision)) as server:
            async with connect(server) as session:
                listed = await session.list_resources()
                read = [await session.read_resource(one.uri) for one in listed.resources]
                return [listed, *read]

    listed, *withheld = asyncio.run(use(Withheld("no")))
    _, *released = asyncio.run(use(Released()))

    assert {one.name: one.uri for one in listed.resources} == {
        "closed": "nbtool://variables/closed",
        "open": "nbtool://variables/open",
    }
    assert secret not in str(listed)
    by_name = dict(zip(("closed", "open"), (one.contents[0].text for one in withheld), strict=True))
    assert "secret" not in by_name["closed"]
    assert known in by_name["open"]
    assert secret in released[0].contents[0].text


@pytest.mark.parametrize("uri", ["nbtool://variables/missing", "nbtool://variables/no name", "file:///etc/passwd"])
def test_what_is_no_variable_is_read_as_an_error_and_not_as_a_text(uri: str) -> None:
    """A text would be taken for the value: a client hands what it read to its model, or keeps it."""

    async def use() -> MCPError:
        with serve(lambda: Chat(tools=[double])) as server:
            async with connect(server) as session:
                with pytest.raises(MCPError) as raised:
                    await session.read_resource(uri)
        return raised.value

    assert asyncio.run(use()).code == INVALID_PARAMS


def test_the_calls_of_a_client_are_turns_of_its_chat_in_the_journal() -> None:
    view = ListView()

    async def use() -> None:
        with serve(lambda: Chat(tools=[double]), view) as server:
            async with connect(server, "agent") as session:
                await session.call_tool("double", {"n": 1})
                await session.call_tool("double", {"n": 2})
            calls = {name: client.totals.calls for name, client in server.handlers.clients.items()}
            assert calls == {"agent": 2}

    asyncio.run(use())
    kinds = [event["kind"] for event in journal().events(view.shown[1][0].turn_id)]

    assert [("agent" in one, "double" in one) for one in (turn.prompt.text for turn, _ in view.shown)] == [
        (True, True)
    ] * 2
    assert {"call_ready", "call_started", "call_finished", "turn_ended"} <= set(kinds)


def test_private_values_are_masked_before_a_result_leaves() -> None:
    @tool(run="auto")
    def owner() -> str:
        """Return who owns it."""
        return "jane@example.com"

    async def use() -> Any:
        with serve(lambda: Chat(tools=[owner], plugins=[Privacy()])) as server:
            async with connect(server) as session:
                return await session.call_tool("owner", {})

    assert "jane@example.com" not in str(asyncio.run(use()))


def test_images_and_json_objects_arrive_as_such() -> None:
    @tool(run="auto")
    def chart() -> Media:
        """Draw."""
        return Media("image/png", data=PNG)

    @tool(run="auto")
    def counts() -> dict[str, int]:
        """Count."""
        return {"a": 1}

    @tool(run="auto")
    def mean() -> dict[str, float]:
        """Average nothing."""
        return {"a": float("nan")}

    async def use() -> list[Any]:
        with serve(lambda: Chat(tools=[chart, counts, mean])) as server:
            async with connect(server) as session:
                return [await session.call_tool(name, {}) for name in ("chart", "counts", "mean")]

    chart_result, counted, averaged = asyncio.run(use())

    assert [one.mime_type for one in chart_result.content if one.type == "image"] == ["image/png"]
    assert counted.structured_content == {"a": 1}
    assert json.loads(texts(counted)[0]) == {"a": 1}
    assert (averaged.structured_content, texts(averaged)[0]) == (None, '{"a": NaN}')


def test_progress_is_forwarded_and_a_cancelled_call_cancels_its_turn() -> None:
    view, received, is_waiting = ListView(), [], threading.Event()

    @tool(run="auto", thread=True)
    def steps() -> Any:
        """Report."""
        yield Progress("half", 0.5)
        return "done"

    @tool(run="auto")
    async def hang() -> str:
        """Wait for ever."""
        is_waiting.set()
        await asyncio.Event().wait()
        return "never"

    async def note(_: float, __: float | None, message: str | None) -> None:
        received.append(message)

    async def use() -> None:
        with serve(lambda: Chat(tools=[steps, hang]), view) as server:
            async with connect(server) as session:
                await session.call_tool("steps", {}, progress_callback=note)
                with pytest.raises(Exception, match=r"[Tt]imed out"):
                    await session.call_tool("hang", {}, read_timeout_seconds=0.5)
            await asyncio.wrap_future(view.shown[1][0].done)

    asyncio.run(use())

    assert is_waiting.is_set()
    assert received == ["half\n"]
    assert view.shown[1][0].status == "cancelled"


def test_only_so_many_calls_of_a_client_wait_and_only_so_many_run() -> None:
    started: list[int] = []
    release = threading.Event()

    @tool(run="auto")
    async def hold(n: int) -> int:
        """Wait."""
        started.append(n)
        await asyncio.to_thread(release.wait, 240)
        return n

    async def use() -> list[Any]:
        with serve(lambda: Chat(tools=[hold]), places=2) as server:
            async with connect(server) as session:
                calls = [asyncio.create_task(session.call_tool("hold", {"n": n})) for n in range(17)]
                refused, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                assert len(started) <= 2
                release.set()
                results = await asyncio.gather(*calls)
            totals = server.handlers.clients["tester"].totals
            texts_of_refused = [texts(one.result())[0] for one in refused]
            return [*texts_of_refused, sum(one.is_error for one in results), (totals.calls, totals.refused)]

    refused, failed, counts = asyncio.run(use())

    assert "16 calls" in refused
    assert failed == 1
    assert counts == (16, 1)


def test_open_calls_are_answered_when_the_notebook_stops_serving(caplog: pytest.LogCaptureFixture) -> None:
    asked: set[str] = set()
    are_asked = threading.Event()

    def on_show(turn: Turn, _: Chat) -> None:
        def listen(event: Any) -> None:
            if event.kind == "call_asked":
                asked.add(turn.turn_id)
                if len(asked) == 2:
                    are_asked.set()

        turn.add_listener(listen)

    view = ListView(on_show=on_show)

    async def use() -> list[Any]:
        with serve(lambda: Chat(tools=[pay]), view, places=2) as server:
            async with connect(server) as session:
                calls = [asyncio.create_task(session.call_tool("pay", {"amount": n})) for n in range(3)]
                assert await asyncio.to_thread(are_asked.wait, 240)
                await asyncio.to_thread(server.stop)
                return await asyncio.gather(*calls)

    results = asyncio.run(use())

    assert [(result.is_error, len(texts(result))) for result in results] == [(True, 1)] * 3
    assert len({texts(result)[0] for result in results}) == 1
    assert [turn.done.result(240).status for turn, _ in view.shown] == ["cancelled", "cancelled"]
    assert [record.getMessage() for record in caplog.records if "gave up" in record.getMessage()] == []


def test_what_the_library_logs_is_not_printed_into_the_cell() -> None:
    name = "mcp.shared.jsonrpc_dispatcher"
    parents = [logging.getLogger(name.rsplit(".", count)[0]) for count in range(3)]

    assert any(isinstance(one, logging.NullHandler) for logger in parents for one in logger.handlers)


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize(("name", "arguments"), [("list_cells", {}), ("read_cell", {"cell": "one"})])
def test_a_client_reads_in_an_error_that_it_cannot_use_the_cells_and_what_it_can(
    name: str, arguments: dict[str, Any], *, asks: bool
) -> None:
    async def use() -> Any:
        with serve(lambda: Chat(tools=[notebook()]), ListView(asks=asks)) as server:
            async with connect(server) as session:
                return await session.call_tool(name, arguments)

    result = asyncio.run(use())

    assert result.is_error
    assert "nbtool:inspection" in texts(result)[0]
