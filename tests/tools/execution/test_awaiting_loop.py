"""Asynchronous tools of a turn that code on an event loop awaits: they share the loop and what is bound to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.turn import Turn
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question


def start(function: Callable[..., Any], **options: Any) -> Turn:
    tools = [tool(function, run=options.pop("run", "auto"), **options)]
    return Chat(wire=ScriptedWire([[call(function.__name__)], "Done."]), tools=tools).start("Go")


async def follow(turn: Turn) -> Turn:
    async for _ in turn:
        pass
    return turn


async def wait(turn: Turn) -> Turn:
    return await turn


WAYS: list[Callable[[Turn], Awaitable[Turn]]] = [wait, follow]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["event", "queue", "future", "lock", "condition"])
def test_objects_of_the_loop_that_awaits_the_turn_work_in_its_tools(
    kind: str, way: Callable[[Turn], Awaitable[Turn]]
) -> None:
    async def cell() -> Turn:
        event, items, lock, condition = asyncio.Event(), asyncio.Queue[int](), asyncio.Lock(), asyncio.Condition()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        started = asyncio.Event()
        await lock.acquire()

        async def use() -> str:
            "Wait for the notebook."
            started.set()
            if kind == "condition":
                async with condition:
                    await condition.wait()
            else:
                await {"event": event.wait, "queue": items.get, "lock": lock.acquire}.get(kind, lambda: future)()
            return "came"

        async def go_on() -> None:
            await started.wait()
            event.set()
            items.put_nowait(1)
            future.set_result(1)
            lock.release()
            async with condition:
                condition.notify_all()

        turn = start(use, timeout=20)
        helper = asyncio.ensure_future(go_on())
        await way(turn)
        await helper
        return turn

    turn = asyncio.run(cell())

    assert (turn.calls[0].status, turn.calls[0].result) == ("ok", "came")


def test_an_asynchronous_approver_and_a_generator_run_on_the_awaiting_loop_too() -> None:
    async def cell() -> tuple[Turn, set[Any], Any]:
        here = asyncio.get_running_loop()
        loops = set()

        async def steps() -> Any:
            "Count."
            loops.add(asyncio.get_running_loop())
            yield "one"

        async def approve(_: Question) -> Approved:
            loops.add(asyncio.get_running_loop())
            return Approved()

        wire = ScriptedWire([[call("steps")], "Done."])
        return await Chat(wire=wire, tools=[tool(steps)], approver=approve).start("Go"), loops, here

    turn, loops, here = asyncio.run(cell())

    assert turn.calls[0].result == "one"
    assert loops == {here}


def test_a_turn_that_nobody_awaits_uses_a_loop_of_nbtool() -> None:
    async def cell() -> tuple[Any, Any]:
        here = asyncio.get_running_loop()

        async def where() -> Any:
            "Say where."
            return asyncio.get_running_loop()

        turn = start(where)
        ended = asyncio.Event()
        turn.done.add_done_callback(lambda _: here.call_soon_threadsafe(ended.set))
        await ended.wait()
        return turn.calls[0].result, here

    found, here = asyncio.run(cell())

    assert found is not here


def test_a_turn_that_a_thread_waits_for_inside_a_loop_is_not_held_up() -> None:
    async def where() -> Any:
        "Say where."
        return asyncio.get_running_loop()

    async def cell() -> tuple[Any, Any]:
        wire = ScriptedWire([[call("where")], "Done."])
        turn = Chat(wire=wire, tools=[tool(where, run="auto")]).send("Go")
        return turn.calls[0].result, asyncio.get_running_loop()

    found, here = asyncio.run(cell())

    assert found is not here


def test_a_loop_that_is_busy_holds_up_no_call_and_a_notice_says_where_it_ran() -> None:
    async def cell() -> tuple[Turn, Any]:
        asked, ran = threading.Event(), threading.Event()

        def may_ask(_: Question) -> Approved:
            asked.set()
            return Approved()

        async def where() -> Any:
            "Say where."
            ran.set()
            return asyncio.get_running_loop()

        wire = ScriptedWire([[call("where")], "Done."])
        turn = Chat(wire=wire, tools=[tool(where)], approver=may_ask).start("Go")
        waiting = asyncio.ensure_future(wait(turn))
        await asyncio.sleep(0)
        assert asked.wait(240)
        assert ran.wait(240), "the loop is blocked here until the tool has run"
        await waiting
        return turn, asyncio.get_running_loop()

    turn, here = asyncio.run(cell())

    assert turn.calls[0].result is not here
    assert any("The code that awaits the turn" in notice.text for notice in turn.notices)


def test_a_call_on_the_awaiting_loop_is_stopped_at_its_time_limit_and_with_the_turn() -> None:
    async def hang() -> None:
        "Never end."
        await asyncio.Event().wait()

    async def cell() -> tuple[Turn, Turn]:
        late = await start(hang, timeout=0.1)
        stopped = start(hang)
        stopped.add_listener(lambda event: event.kind == "call_started" and stopped.cancel())
        await stopped
        return late, stopped

    late, stopped = asyncio.run(cell())

    assert (late.calls[0].status, stopped.calls[0].status) == ("timed_out", "cancelled")


def test_a_loop_that_was_closed_is_no_place_for_a_later_call() -> None:
    async def where() -> Any:
        "Say where."
        return asyncio.get_running_loop()

    started = threading.Event()

    def hold() -> str:
        "Hold the turn until the loop is closed."
        assert started.wait(240)
        return "held"

    wire = ScriptedWire([[call("hold")], [call("where")], "Done."])
    chat = Chat(wire=wire, tools=[tool(hold, run="auto"), tool(where, run="auto")])

    async def cell() -> Turn:
        return chat.start("Go")

    turn = asyncio.run(cell())
    started.set()
    turn.done.result(240)

    assert [one.status for one in turn.calls] == ["ok", "ok"]
