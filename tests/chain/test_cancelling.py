"""A turn that is stopped at every step it can be stopped at, and one that is stopped from outside."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from nbtool import tool
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import AppendContext, ReplyContext, RequestContext, StreamContext, TurnContext
from nbtool.chain.limits import HookSeconds, Limits
from nbtool.chain.repair import repair_history
from nbtool.chain.request import Outcome
from nbtool.chain.task_stopping import shield_until_done, stop_all
from nbtool.chain.usage_meter import Meter
from nbtool.events import Event
from nbtool.messages import ToolCall, user
from nbtool.testing import ScriptedWire, call, thinking
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.calls.tool_calling import ToolCalling
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import TurnState
from tests.chain.running import run

STEPS = 90
"""More steps than the turn below takes, so that the last ones come after its end."""


@tool(run="auto")
async def slow(n: int) -> int:
    "Take a few steps."
    for _ in range(4):
        await asyncio.sleep(0)
    return n


slow.__module__ = "nbtool.tests"  # it runs on the loop of the turn, so that its steps are counted with the others


class Watching:
    """Waits a little in every hook, and counts its clean-ups."""

    def __init__(self) -> None:
        self.cleaned = self.started = self.ended = 0

    async def on_turn_start(self, _: TurnContext) -> Any:
        self.started += 1
        await asyncio.sleep(0)
        return self.clean_up

    async def clean_up(self) -> None:
        await asyncio.sleep(0)
        self.cleaned += 1

    async def on_before_request(self, _: RequestContext) -> None:
        await asyncio.sleep(0)

    async def on_after_request(self, _: ReplyContext) -> None:
        await asyncio.sleep(0)

    async def on_turn_end(self, _: TurnContext) -> None:
        self.ended += 1


async def stop_after(steps: int) -> tuple[Outcome, TurnContext, Watching, list[Event], ToolCalling]:
    """Run a turn of two rounds and stop it after so many steps of the loop."""
    events: list[Event] = []

    async def emit(event: Event) -> None:
        await asyncio.sleep(0)
        events.append(event)

    limits, watching, cancel = Limits(), Watching(), CancelSignal()
    state = TurnState()
    apply_and_emit = state.recorded(emit)
    turn = TurnContext("turn_1", user("Go"), (), limits, apply_and_emit, cancel, Meter(limits))
    calling = ToolCalling(ToolRuntime(Toolset("all", [slow]), Variables(), apply_and_emit, state))
    wire = ScriptedWire([[thinking("Hm."), call("slow", n=1), call("slow", n=2)], "Done."])
    running = asyncio.ensure_future(Engine(turn, wire, [calling, watching]).run())
    for _ in range(steps):
        await asyncio.sleep(0)
    cancel.cancel()
    return await asyncio.wait_for(running, 240), turn, watching, events, calling


@pytest.mark.promise("stops")
@pytest.mark.parametrize("steps", range(STEPS))
def test_a_turn_that_is_stopped_at_any_step_ends_once_and_leaves_a_history_that_can_be_sent(steps: int) -> None:
    outcome, turn, watching, events, calling = asyncio.run(stop_after(steps))

    assert outcome.status in ("cancelled", "completed")
    assert outcome.errors == []
    assert [event.kind for event in events].count("turn_ended") == 1
    assert events[-1].kind == "turn_ended"
    assert watching.cleaned <= watching.started <= 1
    assert watching.ended == 1
    for record in calling.runtime.state.calls:
        finished = [e for e in events if e.kind == "call_finished" and e.call_id == record.call_id]
        assert len(finished) == 1
        assert record.status in ("ok", "cancelled", "not_run")
    repaired = repair_history(turn.messages)
    assert result_ids(repaired) == call_ids(repaired)


def call_ids(messages: list[Any]) -> list[str]:
    return [part.call_id for message in messages for part in message.parts if isinstance(part, ToolCall)]


def result_ids(messages: list[Any]) -> list[str]:
    return [result.call_id for message in messages for result in message.results]


def test_a_turn_whose_task_is_cancelled_from_outside_still_cleans_up() -> None:
    async def main() -> Watching:
        limits, watching = Limits(), Watching()

        class Endless:
            async def on_before_request(self, _: RequestContext) -> None:
                await asyncio.Event().wait()

        async def emit(_: Event) -> None:
            await asyncio.sleep(0)

        turn = TurnContext("turn_1", user("Go"), (), limits, emit, CancelSignal(), Meter(limits))
        running = asyncio.ensure_future(Engine(turn, ScriptedWire([]), [watching, Endless()]).run())
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return watching

    assert asyncio.run(main()).cleaned == 1


def test_the_steps_above_reach_from_the_first_one_to_beyond_the_end() -> None:
    ends = [asyncio.run(stop_after(steps))[0].status for steps in (0, STEPS // 4, STEPS)]

    assert ends == ["cancelled", "cancelled", "completed"]


def test_the_error_of_work_that_fails_while_it_is_cancelled_is_not_logged_as_forgotten() -> None:
    logged: list[dict[str, Any]] = []

    async def fail_when_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError

    async def stop() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
        tasks = [asyncio.ensure_future(fail_when_cancelled())]
        await asyncio.sleep(0)
        await stop_all(tasks, 5)
        assert tasks[0].done()
        tasks.clear()
        gc.collect()

    asyncio.run(stop())
    assert logged == []


def test_the_error_of_a_sync_hook_that_ends_soon_after_the_stop_is_kept() -> None:
    class Failing:
        def on_before_request(self, request: RequestContext) -> None:
            request.turn.cancel.cancel()
            for _ in range(20):  # by then the wait for this thread has been cancelled
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loops[0]).result(240)
            raise ValueError("a defect")

    async def stopped() -> Outcome:
        loops.append(asyncio.get_running_loop())
        limits = Limits(hooks=HookSeconds(stop=30, minimum=30))
        turn = TurnContext("turn_1", user("Go"), (), limits, ignore, CancelSignal(), Meter(limits))
        return await Engine(turn, ScriptedWire(["Hello"]), [Failing()]).run()

    async def ignore(_: Event) -> None: ...

    loops: list[asyncio.AbstractEventLoop] = []
    outcome = asyncio.run(stopped())

    assert outcome.status == "cancelled"
    assert str(outcome.error) == "The plugin Failing failed in on_before_request: ValueError: a defect"


def test_a_hook_that_hangs_while_its_turn_is_stopped_has_the_short_time_of_a_stop() -> None:
    class Hanging:
        async def on_stream_data(self, stream: StreamContext) -> None:
            stream.turn.cancel.cancel()
            await asyncio.sleep(0)

        async def on_message_append(self, _: AppendContext) -> None:
            await asyncio.Event().wait()

    ran = run(["A reply that is stopped"], Hanging(), limits=Limits(hooks=HookSeconds(stop=0.05, drain=5)))

    assert ran.outcome.status == "cancelled"
    assert "took longer than 0.05 s in on_message_append" in str(ran.outcome.error)
    assert ran.of("notice") == []


def test_a_hook_that_is_late_is_cancelled_and_has_ended_before_the_turn_cleans_up() -> None:
    steps: list[str] = []

    class Late:
        def on_turn_start(self, _: TurnContext) -> Any:
            return lambda: steps.append("cleaned up")

        async def on_before_request(self, _: RequestContext) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                steps.append("cancelled")

    ran = run(["Hello"], Late(), limits=Limits(hooks=HookSeconds(call=0.2)))

    assert "took longer than 0.2 s in on_before_request" in str(ran.outcome.error)
    assert steps == ["cancelled", "cleaned up"]


def test_work_that_is_shielded_ends_before_its_caller_is_cancelled() -> None:
    async def use() -> tuple[bool, list[str]]:
        steps, may_end, has_begun = list[str](), asyncio.Event(), asyncio.Event()

        async def work() -> None:
            has_begun.set()
            await may_end.wait()
            steps.append("done")

        task = asyncio.create_task(shield_until_done(work()))
        await has_begun.wait()
        task.cancel()
        await asyncio.sleep(0)  # the cancellation arrives, and is kept until the work has ended
        may_end.set()
        await asyncio.wait({task})
        return task.cancelled(), steps

    assert asyncio.run(use()) == (True, ["done"])
