"""However many interrupts come while a cell waits: its turn is stopped once, ends, and leaves what a turn leaves."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chain.plugin import HOOKS, PLAIN_HOOKS
from nbtool.chat import chat as module
from nbtool.events import Event
from nbtool.magics.cell.interrupts import one_interrupt
from nbtool.testing import ScriptedWire, call

STORMS = 25
SECONDS = 15


class InterruptStorm:
    """Sends interrupts to the main thread, one after the other, from the first event of a kind on until `over`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.over = threading.Event()
        self.sent = 0
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def hear(self, event: Event) -> None:
        """Begin at the event."""
        if event.kind == self.kind and not self._started.is_set():
            self._started.set()
            self._thread.start()

    def end(self) -> None:
        """Send no more."""
        self.over.set()
        if self._started.is_set():
            self._thread.join(SECONDS)

    def _send(self) -> None:
        main = threading.main_thread().ident
        assert main
        while not self.over.wait(0.0005):
            signal.pthread_kill(main, signal.SIGINT)
            self.sent += 1


@pytest.fixture
def passed_interrupts() -> Any:
    """Count the interrupts that are let through to Python's own handler; they raise only while `let_through` is set."""
    inside = threading.Event()
    raised: list[int] = []

    def handler(number: int, _: object) -> None:
        if inside.is_set():
            raised.append(number)
            raise KeyboardInterrupt

    former = signal.signal(signal.SIGINT, handler)
    yield inside, raised
    signal.signal(signal.SIGINT, former)


@pytest.mark.promise("stops")
@pytest.mark.parametrize("kind", ["turn_started", "request_started", "call_started"])
def test_a_storm_of_interrupts_stops_a_turn_once_and_leaves_its_output(kind: str, passed_interrupts: Any) -> None:
    inside, raised = passed_interrupts

    @tool(run="auto", thread=True)
    def stays() -> None:
        "Stay."
        storm.over.wait(0.05)

    sent = 0
    for _ in range(STORMS):
        storm, left = InterruptStorm(kind), []
        chat = Chat(wire=ScriptedWire([call("stays"), *[call("stays")] * 8, "Done."]), tools=[stays])
        turn = chat.compose("Go")
        turn.add_listener(storm.hear)
        raised.clear()
        with one_interrupt(turn) as interrupts:
            inside.set()
            try:
                module.wait_for_turn(turn, on_start=interrupts.begin)
            except KeyboardInterrupt:
                left.append("stopped")
            finally:
                interrupts.hold()
                left.append(turn.status)
                inside.clear()
            storm.end()

        assert left == ["stopped", "cancelled"]
        assert [event.kind for event in turn.log].count("turn_ended") == 1
        assert len(raised) <= 1  # none if it came before the turn had begun, which then raises it itself
        sent += storm.sent
    assert sent > STORMS


def test_an_interrupt_before_the_turn_has_started_stops_it_once_it_has(passed_interrupts: Any) -> None:
    inside, _ = passed_interrupts
    turn = Chat(wire=ScriptedWire(["Hello"])).compose("Go")
    with one_interrupt(turn) as interrupts:
        inside.set()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            module.wait_for_turn(turn, on_start=interrupts.begin)
        inside.clear()

    assert turn.done.done()
    assert turn.log[-1].kind == "turn_ended"


def test_an_interrupt_after_the_turn_has_ended_is_noted_and_cuts_nothing_short(passed_interrupts: Any) -> None:
    inside, raised = passed_interrupts
    turn = Chat(wire=ScriptedWire(["Hello"])).compose("Go")
    with one_interrupt(turn) as interrupts:
        module.wait_for_turn(turn, on_start=interrupts.begin)
        inside.set()
        signal.raise_signal(signal.SIGINT)
        inside.clear()

    assert (interrupts.is_received, raised, turn.status) == (True, [], "completed")


class Trains:
    """A tool that ends early when it is interrupted, as training loops do; it catches so many interrupts."""

    def __init__(self, interrupts: int = 1) -> None:
        self.interrupts = interrupts
        self.runs = 0

    def __call__(self) -> str:
        """Train."""
        self.runs += 1
        caught = 0
        for _ in range(self.interrupts):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                caught += 1
        return f"ended early, {caught} caught"

    def chat(self) -> Chat:
        """Return a chat whose model calls it three times."""
        trains = tool(run="auto", name="trains")(self.__call__)
        return Chat(wire=ScriptedWire([[call("trains"), call("trains")], call("trains"), "Done."]), tools=[trains])


@pytest.mark.promise("stops")
def test_an_interrupt_that_a_tool_catches_stops_the_cell_once_the_tool_has_returned(shell: Any) -> None:
    trains = Trains()
    shell.user_ns["trainer"] = trains.chat()

    shell.run_cell("%%chat -c trainer -o answer\nTrain.")

    turn = shell.user_ns["answer"]
    assert (trains.runs, turn.status) == (1, "cancelled")


@pytest.mark.promise("stops")
def test_an_interrupt_that_a_finalizer_catches_stops_the_turn(passed_interrupts: Any) -> None:
    inside, raised = passed_interrupts
    is_raised = threading.Event()

    @tool(run="auto", thread=True)
    def wait_here() -> None:
        """Keep the turn from ending before the interrupt."""
        is_raised.wait(SECONDS)

    turn = Chat(wire=ScriptedWire([call("wait_here"), "Hello"]), tools=[wait_here]).compose("Go")

    def poll() -> None:
        if not raised:
            with suppress(KeyboardInterrupt):  # as Python does in a `__del__`
                signal.raise_signal(signal.SIGINT)
            is_raised.set()
        interrupts.poll()

    with one_interrupt(turn) as interrupts:
        inside.set()
        with pytest.raises(KeyboardInterrupt):
            module.wait_for_turn(turn, on_tick=poll, on_start=interrupts.begin)
        inside.clear()

    assert len(raised) == 1
    assert turn.done.done()


@pytest.mark.promise("stops")
@pytest.mark.parametrize(("again_seconds", "count"), [(0.0, 3), (60.0, 1)])
def test_a_tool_that_catches_an_interrupt_and_goes_on_gets_a_later_one(
    again_seconds: float, count: int, passed_interrupts: Any
) -> None:
    inside, raised = passed_interrupts
    trains = Trains(interrupts=3)
    turn = trains.chat().compose("Go")
    with one_interrupt(turn, again_seconds=again_seconds) as interrupts:
        inside.set()
        with pytest.raises(KeyboardInterrupt):
            module.wait_for_turn(turn, on_tick=interrupts.poll, on_start=interrupts.begin)
        inside.clear()

    assert (len(raised), trains.runs) == (count, 1)


@pytest.mark.parametrize(("seconds", "comes_through"), [(60.0, False), (-1.0, True)])
def test_interrupts_that_follow_at_once_are_swallowed_and_later_ones_are_not(
    seconds: float, comes_through: bool, passed_interrupts: Any
) -> None:
    inside, raised = passed_interrupts
    turn = Chat(wire=ScriptedWire(["Hello"])).compose("Go")
    former = signal.getsignal(signal.SIGINT)
    with one_interrupt(turn, linger_seconds=seconds) as interrupts:
        inside.set()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.begin()
    turn.done.result(SECONDS)
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    inside.clear()
    signal.signal(signal.SIGINT, former)

    assert bool(raised) is comes_through


@pytest.mark.promise("stops")
@pytest.mark.parametrize("place", [*HOOKS, *PLAIN_HOOKS, "clean-up"])
def test_a_stop_is_handled_within_a_second_whatever_hook_blocks_the_loop_and_the_next_cell_works(place: str) -> None:
    release, reached, pressed = threading.Event(), threading.Event(), [0.0]
    main = threading.main_thread().ident
    assert main

    def block(*_: Any) -> None:
        if not reached.is_set():
            reached.set()
            release.wait(4 * SECONDS)

    async def block_async(*_: Any) -> None:
        block()

    async def start(*_: Any) -> Any:
        return block_async

    hook = start if place == "clean-up" else block if place in PLAIN_HOOKS else block_async
    plugin = type("Blocking", (), {"on_turn_start" if place == "clean-up" else place: hook})()

    def interrupt() -> None:
        reached.wait(SECONDS)
        pressed[0] = time.monotonic()
        signal.pthread_kill(main, signal.SIGINT)

    @tool(run="auto")
    def look() -> str:
        """Look."""
        return "seen"

    chat = Chat(wire=ScriptedWire([call("look"), "Hello", "Hello", "Hello"]), tools=[look], plugins=[plugin])
    turn = chat.compose("Go")
    threading.Thread(target=interrupt).start()
    with one_interrupt(turn) as interrupts, pytest.raises(KeyboardInterrupt):
        module.wait_for_turn(turn, on_start=interrupts.begin)

    assert time.monotonic() - pressed[0] < 10, "the hook blocks for 60 s"
    assert not turn.done.done()
    release.set()
    ended = turn.done.result(SECONDS).status
    assert ended == ("completed" if place in ("on_turn_end", "clean-up") else "cancelled")
    assert chat.approvals.pending() == ()
    chat.plugins.clear()
    assert chat.send("And now?").status == "completed"


@pytest.mark.promise("stops")
def test_a_turn_that_cannot_end_does_not_hold_the_thread_that_stopped_it() -> None:
    release, reached = threading.Event(), threading.Event()

    class Blocking:
        async def on_before_request(self, _: object) -> None:
            reached.set()
            release.wait(SECONDS)

    main = threading.main_thread().ident
    assert main

    def interrupt() -> None:
        reached.wait(SECONDS)
        signal.pthread_kill(main, signal.SIGINT)

    turn = Chat(wire=ScriptedWire(["Hello"]), plugins=[Blocking()]).compose("Go")
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        module.wait_for_turn(turn, stop_seconds=0.2)

    assert not turn.done.done()
    release.set()
    assert turn.done.result(SECONDS).status == "cancelled"
