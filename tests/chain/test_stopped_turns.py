"""Turns of every shape, stopped in every way at every step: nothing of them runs on, and each call has one outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtool import tool
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import HookSeconds, Limits
from nbtool.chain.plugin import HOOKS
from nbtool.chain.repair import repair_history
from nbtool.chain.request import Outcome
from nbtool.chain.usage_meter import Meter
from nbtool.errors import ConnectionFailed
from nbtool.events import Event
from nbtool.messages import user
from nbtool.testing import ScriptedReply, ScriptedWire, call, cut, thinking
from nbtool.tools.approval import Undecided
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.calls.tool_calling import ToolCalling
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import TurnState
from tests.chain.test_cancelling import call_ids, result_ids

STEPS = 90
"""Steps of the loop after which a turn is stopped, from none to so many: most turns have ended by then."""

AFTER = 20
"""Steps for which what is left of a turn is watched once it has ended."""

SHAPES: dict[str, list[ScriptedReply]] = {
    "two calls": [[thinking("Hm."), call("slow", n=1), call("slow", n=2)], "Done."],
    "nine calls": [[call("slow", n=n) for n in range(9)], "Done."],
    "a chain": [call("slow", n=1), call("slow", n=2), call("slow", n=3), "Done."],
    "a question": [call("asks", n=1), "Done."],
    "a question among calls": [[call("slow", n=1), call("asks", n=2), call("slow", n=3)], "Done."],
    "a failure": [[call("fails", n=1), call("slow", n=2)], "Done."],
    "what never ends": [[call("stays", n=1), call("slow", n=2)], "Done."],
    "a broken reply": [call("slow", n=1), ["It bro", ConnectionFailed("gone")]],
    "a reply cut off": [call("slow", n=1), ["It en", cut()]],
}
"""What the model says."""

WITH_FAULTS = ("two calls", "a question among calls", "what never ends")
"""The shapes that are also tried with a plugin that fails; the nightly lane tries all."""

WAYS = ("signal", "signal twice", "signal of a thread", "task", "signal and task")
"""How a turn is stopped."""

SHORT = Limits(hooks=HookSeconds(stop=0.05, stopped_end=0.1, minimum=0.02))
"""Short limits at the end of a turn."""

Tell = Callable[[str, object], None]


@dataclass
class StoppedTurn:
    """A turn that was stopped, and all that is known of it."""

    outcome: Outcome | None
    turn: TurnContext
    events: list[Event]
    calling: ToolCalling
    effects: list[int]
    left: list[str] = field(default_factory=list)


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_is_stopped_in_any_way_leaves_nothing_behind(way: str, record_property: Tell) -> None:
    stop_all(way, record_property, range(0, STEPS, 18))


@pytest.mark.promise("stops")
@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_is_stopped_at_any_step_leaves_nothing_behind(way: str, record_property: Tell) -> None:
    stop_all(way, record_property, range(STEPS))


@pytest.mark.promise("stops")
@pytest.mark.parametrize("fault", ["raises", "hangs", "raises when it is cancelled"])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_turn_that_is_stopped_while_a_plugin_fails_leaves_nothing_behind(
    hook: str, fault: str, record_property: Tell
) -> None:
    steps = range(0, STEPS, 15)
    record_property("injected", len(steps) * len(WITH_FAULTS))
    for shape in WITH_FAULTS:
        for number in steps:
            check(asyncio.run(run_and_stop(shape, "signal", number, hook, fault)), f"{shape}, {hook} {fault}, {number}")


@pytest.mark.promise("stops")
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", ["raises", "hangs", "raises when it is cancelled"])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_turn_that_is_stopped_at_any_step_while_a_plugin_fails_leaves_nothing_behind(
    hook: str, fault: str, record_property: Tell
) -> None:
    record_property("injected", STEPS * len(SHAPES) * len(WAYS))
    for way in WAYS:
        for shape in SHAPES:
            for number in range(STEPS):
                case = f"{shape}, {way}, {hook} {fault}, {number}"
                check(asyncio.run(run_and_stop(shape, way, number, hook, fault)), case)


def faulty(hook: str, fault: str) -> object:
    """Give a plugin that fails each time that one of its hooks is asked."""

    async def fail(_self: object, _: object) -> None:
        await asyncio.sleep(0)
        if fault == "raises":
            raise ValueError("a defect")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if fault == "hangs":
                raise
            raise ValueError("a defect") from None

    return type("Faulty", (), {hook: fail})()


def stop_all(way: str, tell: Tell, steps: range) -> None:
    tell("injected", len(steps) * len(SHAPES))
    for shape in SHAPES:
        for number in steps:
            check(asyncio.run(run_and_stop(shape, way, number)), f"{shape}, {way}, {number}")


async def run_and_stop(shape: str, way: str, steps: int, hook: str = "", fault: str = "") -> StoppedTurn:
    """Run a turn, stop it after so many steps of the loop, and watch what is left of it for a while."""
    events: list[Event] = []
    effects: list[int] = []

    async def emit(event: Event) -> None:
        await asyncio.sleep(0)
        events.append(event)

    cancel = CancelSignal()
    state = TurnState()
    emit_applied = state.recorded(emit)
    turn = TurnContext("turn_1", user("Go"), (), SHORT, emit_applied, cancel, Meter(SHORT))
    tool_runtime = ToolRuntime(
        Toolset("all", tools(effects)), Variables(), emit_applied, state, approver=lambda _: Undecided()
    )
    plugins = (faulty(hook, fault),) if hook else ()
    calling = ToolCalling(tool_runtime, plugins)
    running = asyncio.ensure_future(Engine(turn, ScriptedWire(SHAPES[shape]), [calling, *plugins]).run())
    for _ in range(steps):
        await asyncio.sleep(0)
    outcome = None
    with suppress(asyncio.CancelledError):
        await stop(way, running, cancel)
        outcome = await asyncio.wait_for(asyncio.shield(running), 240)
    seen = StoppedTurn(outcome, turn, list(events), calling, list(effects))
    for _ in range(AFTER):
        await asyncio.sleep(0)
    seen.left += [f"effect {n}" for n in effects[len(seen.effects) :]]
    seen.left += [f"event {event.kind}" for event in events[len(seen.events) :]]
    seen.left += [repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()}]
    return seen


async def stop(way: str, running: asyncio.Future[Outcome], cancel: CancelSignal) -> None:
    if way == "task":
        running.cancel()
        await asyncio.wait({running}, timeout=240)
        return
    if way == "signal of a thread":
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(cancel.cancel))
        thread.start()
        thread.join()
        return
    cancel.cancel()
    if way == "signal twice":
        for _ in range(3):
            await asyncio.sleep(0)
        cancel.cancel()
    if way == "signal and task":
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running}, timeout=240)


def tools(effects: list[int]) -> list[Any]:
    """Give tools that take steps, ask, fail or stay, each with an effect on its way."""

    async def slow(n: int) -> int:
        """Take a few steps and have an effect at each."""
        for _ in range(4):
            effects.append(n)
            await asyncio.sleep(0)
        return n

    async def asks(n: int) -> int:
        """Ask first."""
        return await slow(n)

    async def fails(n: int) -> int:
        """Fail."""
        await slow(n)
        raise ValueError(n)

    async def stays(n: int) -> int:
        """Stay for ever."""
        await slow(n)
        await asyncio.Event().wait()
        return n

    for function in (slow, asks, fails):
        function.__module__ = "nbtool.tests"  # on the loop of the turn, so that its steps are counted with the others
    return [tool(slow, run="auto"), tool(asks), tool(fails, run="auto"), tool(stays, run="auto")]


def check(seen: StoppedTurn, case: str) -> None:
    """Check what holds after any stop."""
    kinds = [event.kind for event in seen.events]
    assert seen.left == [], case
    assert seen.calling.runtime.approvals.pending() == (), case
    if seen.outcome:
        assert seen.outcome.status in ("cancelled", "completed", "error"), case
        assert kinds.count("turn_ended") == 1, case
        assert kinds[-1] == "turn_ended", case
    reported = [result.call_id for message in seen.turn.chain for result in message.results]
    assert len(reported) == len(set(reported)), case
    for record in seen.calling.runtime.state.calls:
        ended = [event for event in seen.events if event.kind == "call_finished" and event.call_id == record.call_id]
        assert len(ended) == 1, case
        assert record.status in ("ok", "cancelled", "not_run", "error"), case
    repaired = repair_history(seen.turn.messages)
    assert result_ids(repaired) == call_ids(repaired), case
