"""Every hook, and every way it can fail: the turn ends once, nothing of it runs on, and its history tells what ran.

The hooks are those of the contract, so a new one is tried here without a line of its own.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.chain.limits import HookSeconds, Limits
from nbtool.chain.plugin import HOOKS, PLAIN_HOOKS
from nbtool.chain.repair import NO_RESULT, repair_history
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.events import CallAsked, Event
from nbtool.testing import ScriptedReply, ScriptedWire, call
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import Decision, Question

SECONDS = 15
"""Seconds after which a wait of these tests is a failure."""

SHORT = HookSeconds(call=0.2, stop=0.1, end=0.2, stopped_end=0.2, minimum=0.05)

PLACES = (*HOOKS, "clean-up")

RAISES: dict[str, Callable[[], BaseException]] = {
    "an error": lambda: ValueError("a defect"),
    "an error of ours": lambda: NbtoolError("a defect"),
    "CancelledError": asyncio.CancelledError,
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
}
ON_LOOP = ("on_stream_data", *PLAIN_HOOKS)
"""Plain hooks that are called on the loop, where one that blocks cannot be stopped."""


AFTER_CALLS = ("on_turn_end", "clean-up", *PLAIN_HOOKS)
"""Where a fault does not end the calls, so that these have to end by themselves."""


@dataclass
class FaultScenario:
    """A turn of two rounds whose first one has three calls, with one plugin that fails at one place."""

    place: str
    fault: Callable[[], Any]
    effects: list[str] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    is_plain: bool = False
    is_spent: bool = False

    def plugin(self, **more: Any) -> object:
        """Give the plugin; it fails once, and at a call's hook only once another call waits for its question."""
        if self.place == "clean-up":
            method: Callable[..., Any] = lambda _self, _: self.strike  # noqa: E731 - beside the other two
        elif self.place not in ("on_call_start", "on_call_end"):
            method = lambda _self, _: self.strike()  # noqa: E731
        else:
            method = self.strike_at_call if self.is_plain else self.strike_at_call_async
        return type("Faulty", (), {"on_turn_start" if self.place == "clean-up" else self.place: method, **more})()

    def strike(self) -> Any:
        """Fail, but only once."""
        if self.is_spent:
            return None
        self.is_spent = True
        return self.fault()

    @property
    def strike_at_call(self) -> Callable[..., Any]:
        """Give a plain hook that fails at the last call of the round."""

        def hook(_: object, context: Any) -> Any:
            return self.strike() if context.call.name == "acts" and self.asked.wait(SECONDS) else None

        return hook

    @property
    def strike_at_call_async(self) -> Callable[..., Any]:
        """Give an async hook that does."""

        async def hook(_: object, context: Any) -> Any:
            if context.call.name == "acts" and await asyncio.to_thread(self.asked.wait, SECONDS):
                answer = self.strike()
                return await answer if asyncio.iscoroutine(answer) else answer
            return None

        return hook

    def tools(self) -> list[Any]:
        """Give tools that have effects, one of which asks first."""

        async def acts() -> str:
            """Act in a few steps."""
            for step in range(3):
                self.effects.append(f"acts {step}")
                await asyncio.sleep(0)
            return "acted"

        async def stays() -> str:
            """Begin, and stay for ever."""
            self.effects.append("stays 0")
            await asyncio.Event().wait()
            return "never"

        def asks() -> str:
            """Ask first."""
            self.effects.append("asks 0")
            return "asked"

        needs_stays = self.place not in AFTER_CALLS
        return [*([tool(stays, run="auto")] if needs_stays else []), tool(asks), tool(acts, run="auto")]

    def chat(self, **more: Any) -> Chat:
        """Give the chat; nobody answers its question where the fault comes first."""
        tools = self.tools()
        names = [function.__name__ for function in tools]
        replies: list[ScriptedReply] = [[call(name) for name in names], "Done."]
        chat = Chat(wire=ScriptedWire(replies), tools=tools, plugins=[self.plugin(**more)], approver=self)
        chat.limits = Limits(hooks=SHORT)
        return chat

    def ask(self, question: Question) -> Decision | None:
        """Leave the question on the desk, or refuse where the calls have to end by themselves."""
        return question.denial("no") if self.place in AFTER_CALLS else None

    def run(self, **more: Any) -> tuple[Chat, Turn]:
        """Run the turn to its end; the person stops it once `more["stop"]` is set."""
        stop = more.pop("stop", None)
        chat = self.chat(**more)
        turn = chat.compose("Go")
        turn.approver = chat.approver
        turn.add_listener(self.hear)
        turn.start()
        if stop:
            assert stop.wait(SECONDS)
            turn.cancel()
        turn.done.result(SECONDS)
        return chat, turn

    def hear(self, event: Event) -> None:
        """Let the fault come once a question lies on the desk."""
        if isinstance(event, CallAsked):
            self.asked.set()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Give what a blocked hook waits for; set in the end, so that its thread ends too."""
    event = threading.Event()
    yield event
    event.set()


def tasks() -> set[str]:
    """Give the tasks that nbtool's loop has, once those that are about to end have done so."""

    async def look() -> set[str]:
        for _ in range(20):
            await asyncio.sleep(0)
        return {repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()}}

    return background_loop().submit(look()).result(SECONDS)


def check(room: FaultScenario, chat: Chat, turn: Turn, before: set[str]) -> None:
    """Check what holds after whatever a hook did."""
    status, effects = turn.status, list(room.effects)
    kinds = [event.kind for event in turn.log]
    assert kinds.count("turn_ended") == 1
    assert kinds[-1] == "turn_ended"
    assert turn.log[-1].status == status  # type: ignore[union-attr]  # the last event, as just seen
    assert status not in ("running", "waiting", "parked")
    assert chat.approvals.pending() == ()
    left = tasks() - before
    assert not left, left
    assert room.effects == effects
    assert turn.status == status
    history = {
        result.call_id: result.text for message in repair_history(turn.messages.complete) for result in message.results
    }
    for record in turn.calls:
        assert kinds.count("call_finished") == len(turn.calls)
        ran = f"{record.name} 0" in room.effects
        assert (history.get(record.call_id, NO_RESULT) != NO_RESULT) or not ran, record
        assert not (ran and record.status in ("not_run", "denied", "waiting", "running")), record


@pytest.mark.promise("stops")
@pytest.mark.parametrize("what", RAISES)
@pytest.mark.parametrize("place", [*PLACES, *PLAIN_HOOKS])
def test_a_hook_that_raises_ends_the_turn_and_nothing_of_it_runs_on(place: str, what: str) -> None:
    before = tasks()

    def fault() -> Any:
        raise RAISES[what]()

    room = FaultScenario(place, fault)
    with pytest.warns(UserWarning, match="was removed") if place == "on_event" else nullcontext():
        chat, turn = room.run()

    check(room, chat, turn, before)
    assert room.is_spent
    assert turn.status == ("completed" if place in PLAIN_HOOKS else "error")
    assert bool(turn.error) is (place not in PLAIN_HOOKS)


@pytest.mark.promise("stops")
@pytest.mark.parametrize("place", PLACES)
def test_a_hook_that_hangs_is_stopped_at_its_bound_and_named(place: str) -> None:
    before = tasks()
    room = FaultScenario(place, lambda: asyncio.Event().wait())
    chat, turn = room.run()

    check(room, chat, turn, before)
    assert turn.status == "error"
    assert re.search(r"Faulty took longer than 0\.[23] s in", str(turn.error))  # with what a busy machine adds


@pytest.mark.promise("stops")
@pytest.mark.parametrize("place", PLACES)
def test_a_turn_that_is_stopped_while_a_hook_hangs_ends_at_once(place: str) -> None:
    before, reached = tasks(), threading.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    room = FaultScenario(place, hang)
    chat, turn = room.run(stop=reached, hook_seconds=None)

    check(room, chat, turn, before)
    if place not in ("on_turn_end", "clean-up"):
        assert turn.status == "cancelled"


@pytest.mark.promise("stops")
@pytest.mark.parametrize("place", [place for place in PLACES if place not in ON_LOOP])
def test_a_turn_that_is_stopped_while_a_plain_hook_blocks_ends_at_once(place: str, release: threading.Event) -> None:
    before, reached = tasks(), threading.Event()

    def block() -> None:
        reached.set()
        release.wait(SECONDS)

    room = FaultScenario(place, block, is_plain=True)
    chat, turn = room.run(stop=reached)

    release.set()
    check(room, chat, turn, before)


@pytest.mark.promise("stops")
@pytest.mark.parametrize("place", PLACES)
def test_a_hook_that_does_not_end_when_it_is_cancelled_is_left_behind(place: str) -> None:
    before, reached = tasks(), threading.Event()
    go_on: list[Callable[[], object]] = []

    async def deaf() -> None:
        event, loop = asyncio.Event(), asyncio.get_running_loop()
        go_on.append(lambda: loop.call_soon_threadsafe(event.set))
        reached.set()
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                continue

    room = FaultScenario(place, deaf)
    chat, turn = room.run(stop=reached)

    go_on[0]()
    check(room, chat, turn, before)


def hang() -> Any:
    """Hang until cancelled."""
    return asyncio.Event().wait()


def raising(what: str) -> Callable[[], Any]:
    """Give what raises."""

    def fault() -> Any:
        raise RAISES[what]()

    return fault


RAISING = st.sampled_from(list(RAISES)).map(raising)
FAILING = st.tuples(st.sampled_from(PLACES), st.just(hang) | RAISING) | st.tuples(st.sampled_from(PLAIN_HOOKS), RAISING)
PLUGINS = st.lists(FAILING, min_size=2, max_size=4)
STOPS = st.sampled_from([None, "request_started", "call_started", "call_asked", "reply_finished"])


def try_together(examples: int) -> None:
    """Let several plugins fail in one turn, each at a place and in a way of its own, and the person stop some turns."""

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(plugins=PLUGINS, stop=STOPS)
    def together(plugins: list[tuple[str, Callable[[], Any]]], stop: str | None) -> None:
        before = tasks()
        (place, fault), *others = plugins
        room = FaultScenario(place, fault)
        chat = room.chat()
        chat.plugins += [FaultScenario(*other, asked=room.asked).plugin() for other in others]
        turn = chat.compose("Go")
        turn.approver = room
        turn.add_listener(room.hear)
        turn.add_listener(lambda event: turn.cancel() if event.kind == stop else None)
        turn.start().done.result(SECONDS)
        check(room, chat, turn, before)

    together()


@pytest.mark.promise("stops")
@pytest.mark.filterwarnings("ignore:The listener")
def test_several_plugins_that_fail_in_one_turn_leave_nothing_behind() -> None:
    try_together(20)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore:The listener")
def test_very_many_plugins_that_fail_together_leave_nothing_behind() -> None:
    try_together(1_000)
