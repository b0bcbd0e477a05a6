"""Asynchronous functions of the person's run on a loop of their own: one that blocks it holds nobody but itself."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError, ToolFailed
from nbtool.events import Event
from nbtool.testing import ScriptedWire, call
from nbtool.threads.loop import background_loop, run_sync
from nbtool.threads.thread_pool import Outcome
from nbtool.tools.approval import Decision, Question
from nbtool.tools.execution.async_loop import ToolLoops
from tests.tools.calling import ask_for, make_harness

SECONDS = 15


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Give what a blocking tool waits for; set in the end."""
    event = threading.Event()
    yield event
    event.set()


def start_turn(chat: Chat, kind: str) -> tuple[Turn, threading.Event]:
    """Begin a turn, and give what is set once there was an event of a kind in it."""
    seen = threading.Event()
    turn = chat.compose("Go")
    turn.approver = chat.approver

    def look(event: Event) -> None:
        if event.kind == kind:
            seen.set()

    turn.add_listener(look)
    return turn.start(), seen


def blocking(reached: threading.Event, release: threading.Event) -> list[Any]:
    """Give every kind of tool that blocks the loop it runs on."""

    @tool(run="auto")
    async def coroutine() -> str:
        "Block."
        reached.set()
        return str(release.wait(4 * SECONDS))

    @tool(run="auto")
    async def generator() -> AsyncIterator[str]:
        "Block between two pieces."
        yield "a"
        reached.set()
        release.wait(4 * SECONDS)
        yield "b"

    @tool(run="auto", thread=True)
    def awaitable() -> Any:
        "Give something that blocks when it is awaited."

        async def later() -> str:
            reached.set()
            return str(release.wait(4 * SECONDS))

        return later()

    return [coroutine, generator, awaitable]


@pytest.mark.promise("stops")
@pytest.mark.parametrize("number", range(3))
def test_a_stop_is_handled_while_an_asynchronous_tool_blocks(number: int, release: threading.Event) -> None:
    reached = threading.Event()
    function = blocking(reached, release)[number]
    turn, _ = start_turn(Chat(wire=ScriptedWire([call(function.__name__)]), tools=[function]), "call_started")

    assert reached.wait(SECONDS)
    turn.cancel()
    turn.done.result(SECONDS)

    assert not release.is_set()
    assert (turn.status, turn.calls[0].status) == ("cancelled", "unknown")


@pytest.mark.promise("stops")
@pytest.mark.parametrize("others", [1, 2])
def test_a_call_beside_one_that_blocks_is_moved_and_the_blocking_one_is_named(
    others: int, release: threading.Event
) -> None:
    reached = threading.Event()
    function = blocking(reached, release)[0]
    ended: list[str] = []

    @tool(run="auto")
    async def quick() -> str:
        "End at once, and let the other go when all of these have ended."
        await asyncio.sleep(0)
        ended.append("quick")
        if len(ended) == others:
            release.set()
        return "quick"

    replies: Any = [[call("coroutine"), *(call("quick") for _ in range(others))], "Done."]
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[function, quick]).send("Go")

    assert [made.result for made in turn.calls] == ["True", *["quick"] * others]
    notices = [event.text for event in turn.log if event.kind == "notice"]
    assert len(notices) == others
    assert all("`coroutine` blocked the event loop" in notice for notice in notices)


def test_loops_that_block_have_a_bound_and_a_call_over_it_says_so(release: threading.Event) -> None:
    loops, reached = ToolLoops(max_blocked=0), threading.Event()

    async def block() -> str:
        reached.set()
        return str(release.wait(4 * SECONDS))

    async def quick() -> str:
        return "quick"

    async def both() -> tuple[Outcome, tuple[Outcome, str]]:
        blocking = asyncio.ensure_future(loops.run(block, "coroutine"))
        assert await asyncio.to_thread(reached.wait, SECONDS)
        over = await loops.run(quick, "quick")
        release.set()
        return (await blocking)[0], over

    first, (second, blocker) = asyncio.run(both())

    assert first.value == "True"
    assert isinstance(second.error, ToolFailed)
    assert str(second.error) == "0 asynchronous functions block their loops."
    assert blocker == "The async tool `coroutine`"


def test_a_call_that_is_stopped_while_it_waits_for_a_blocked_loop_never_runs(release: threading.Event) -> None:
    loops, reached, ran = ToolLoops(), threading.Event(), list[str]()

    async def block() -> None:
        reached.set()
        release.wait(4 * SECONDS)

    async def note() -> None:
        ran.append("note")

    async def stopped() -> Outcome:
        blocking = asyncio.ensure_future(loops.run(block, "block"))
        assert await asyncio.to_thread(reached.wait, SECONDS)
        waiting = asyncio.ensure_future(loops.run(note, "note"))
        await asyncio.sleep(0)
        waiting.cancel()
        outcome, _ = await waiting
        release.set()
        await blocking
        return outcome

    assert isinstance(asyncio.run(stopped()).error, asyncio.CancelledError)
    assert ran == []


def test_a_loop_that_blocked_ends_with_its_last_call(release: threading.Event) -> None:
    reached = threading.Event()
    function = blocking(reached, release)[0]
    threads: list[threading.Thread] = []

    @tool(run="auto")
    async def where() -> None:
        "Say on which thread this runs."
        threads.append(threading.current_thread())
        release.set()

    Chat(wire=ScriptedWire([call("where"), "Done."]), tools=[where]).send("Go")
    release.clear()
    replies: Any = [[call("coroutine"), call("where")], "Done."]
    Chat(wire=ScriptedWire(replies), tools=[function, where]).send("Go")

    first, second = threads
    first.join(SECONDS)
    assert (first.is_alive(), second.is_alive()) == (False, True)


def test_all_asynchronous_calls_share_a_loop_so_that_what_is_bound_to_one_serves_them_all() -> None:
    loops: list[Any] = []

    @tool(run="auto")
    async def where() -> None:
        "Note the loop."
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)

    replies: Any = [[call("where")] * 3, call("where"), "Done."]
    Chat(wire=ScriptedWire(replies), tools=[where]).send("Go")

    assert len(loops) == 4
    assert len(set(loops)) == 1


def test_context_variables_of_the_caller_reach_an_asynchronous_tool() -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    @tool(run="auto")
    async def look() -> str:
        "Read the variable."
        return variable.get()

    variable.set("set")
    turn = Chat(wire=ScriptedWire([call("look"), "Done."]), tools=[look]).send("Go")

    assert turn.calls[0].result == "set"


def test_progress_of_an_asynchronous_generator_is_reported_and_its_pieces_are_joined() -> None:
    @tool(run="auto")
    async def pieces() -> AsyncIterator[str]:
        "Give pieces."
        for piece in "abc":
            yield piece
            await asyncio.sleep(0)

    turn = Chat(wire=ScriptedWire([call("pieces"), "Done."]), tools=[pieces]).send("Go")

    assert turn.calls[0].result == "abc"
    assert "".join(event.text for event in turn.log if event.kind == "call_progress") == "abc"


@pytest.mark.parametrize("what", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_whatever_an_asynchronous_tool_raises_is_its_outcome_and_the_loop_goes_on(what: type[BaseException]) -> None:
    @tool(run="auto")
    async def fails() -> None:
        "Fail."
        raise what

    @tool(run="auto")
    async def works() -> str:
        "Work."
        return "worked"

    turn = Chat(wire=ScriptedWire([call("fails"), call("works"), "Done."]), tools=[fails, works]).send("Go")

    assert (turn.status, [made.status for made in turn.calls]) == ("completed", ["error", "ok"])


@pytest.mark.promise("stops")
@pytest.mark.parametrize("kind", ["worker", "async", "async that waits"])
def test_a_generator_that_never_ends_is_stopped(kind: str) -> None:
    steps: list[int] = []

    def endless() -> Iterator[int]:
        "Never end."
        while True:
            steps.append(1)
            yield 1

    async def endless_async() -> AsyncIterator[int]:
        "Never end."
        while True:
            steps.append(1)
            yield 1
            if kind == "async that waits":
                await asyncio.sleep(0)

    function = tool(endless, run="auto", thread=True) if kind == "worker" else tool(endless_async, run="auto")
    turn, going = start_turn(Chat(wire=ScriptedWire([call(function.__name__)]), tools=[function]), "call_progress")

    assert going.wait(SECONDS)
    turn.cancel()
    turn.done.result(SECONDS)
    count = len(steps)
    run_sync(asyncio.sleep(0))

    assert (turn.status, turn.calls[0].status) == ("cancelled", "cancelled")
    assert len(steps) == count


@pytest.mark.promise("fails-closed")
def test_a_policy_that_hangs_denies_the_call(release: threading.Event) -> None:

    def policy(_: Any) -> Any:
        release.wait(4 * SECONDS)
        return "auto"

    @tool(run=policy)
    def act() -> str:
        "Act."
        return "acted"

    record = make_harness(act, policy_seconds=0.05).run(ask_for("act"))

    assert record.status == "denied"
    assert "0.05 s" in record.reason


@pytest.mark.promise("stops")
@pytest.mark.parametrize("is_async", [True, False])
def test_a_stop_is_handled_while_an_approver_blocks(is_async: bool, release: threading.Event) -> None:
    reached = threading.Event()

    async def ask_async(_: Question) -> Decision:
        reached.set()
        release.wait(4 * SECONDS)
        return Approved()

    def ask(_: Question) -> Decision:
        reached.set()
        release.wait(4 * SECONDS)
        return Approved()

    @tool
    def act() -> str:
        "Act."
        return "acted"

    chat = Chat(wire=ScriptedWire([call("act")]), tools=[act], approver=ask_async if is_async else ask)  # type: ignore[arg-type]  # a plain function will do
    turn, _ = start_turn(chat, "call_asked")

    assert reached.wait(SECONDS)
    turn.cancel()
    turn.done.result(SECONDS)
    assert not release.is_set()
    assert (turn.status, chat.approvals.pending()) == ("cancelled", ())


def test_a_blocking_call_of_a_chat_in_an_asynchronous_tool_is_refused() -> None:
    errors: list[BaseException] = []

    @tool(run="auto")
    async def ask() -> None:
        "Ask another chat, and wait for it on the loop."
        try:
            Chat(wire=ScriptedWire(["Hi"])).send("Hi")
        except NbtoolError as error:
            errors.append(error)

    Chat(wire=ScriptedWire([call("ask"), "Done."]), tools=[ask]).send("Go")

    assert [type(error) for error in errors] == [BadUsage]
    assert not background_loop().is_current()
