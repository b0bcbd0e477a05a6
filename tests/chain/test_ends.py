"""How a turn ends when something in it will not, and what is told of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import RequestContext, TurnContext
from nbtool.chain.limits import HookSeconds, Limits
from nbtool.chain.request import Outcome
from nbtool.chain.usage_meter import Meter
from nbtool.events import Event, ReplyEnd, TextDelta
from nbtool.messages import Usage, user
from nbtool.testing import ScriptedWire
from tests.chain.running import run


class NeverEnds:
    """Does not end when it is told to, until the test says so."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()
        self.has_ended = False

    async def on_before_request(self, context: RequestContext) -> None:
        context.turn.cancel.cancel()
        while not self.goes_on.is_set():
            try:
                await self.goes_on.wait()
            except asyncio.CancelledError:
                continue
        self.has_ended = True


def test_what_does_not_end_when_it_is_stopped_is_reported_and_not_waited_for() -> None:
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    async def stopped() -> tuple[Outcome, NeverEnds, bool]:
        deaf = NeverEnds()
        limits = Limits(hooks=HookSeconds(drain=0.01))
        context = TurnContext("turn_1", user("Hi"), (), limits, emit, CancelSignal(), Meter(limits))
        outcome = await Engine(context, ScriptedWire(["Hello"]), [deaf]).run()
        before = deaf.has_ended
        deaf.goes_on.set()
        for _ in range(5):
            await asyncio.sleep(0)
        return outcome, deaf, before

    outcome, deaf, ended_before = asyncio.run(stopped())

    assert (outcome.status, ended_before, deaf.has_ended) == ("cancelled", False, True)
    assert [(event.text, event.level) for event in events if event.kind == "notice"] == [
        ("A stopped task has not ended yet.", "warning")
    ]


def test_a_turn_that_is_cancelled_from_outside_takes_its_work_along() -> None:
    reached: list[str] = []

    class Waiting:
        async def on_before_request(self, _: RequestContext) -> None:
            reached.append("begun")
            try:
                await asyncio.Event().wait()
            finally:
                reached.append("ended")

    async def emit(event: Event) -> None:
        reached.append(event.kind)

    async def cancelled() -> None:
        limits = Limits()
        context = TurnContext("turn_1", user("Hi"), (), limits, emit, CancelSignal(), Meter(limits))
        turn = asyncio.ensure_future(Engine(context, ScriptedWire(["Hello"]), [Waiting()]).run())
        while not reached:
            await asyncio.sleep(0)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        await asyncio.sleep(0)
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(cancelled())

    assert reached[0] == "begun"
    assert "ended" in reached


def test_a_reply_that_ends_without_a_reason_is_a_warning() -> None:
    ran = run([["Perhaps", ReplyEnd("unknown")]])

    assert [event.level for event in ran.of("notice")] == ["warning"]


def test_the_seconds_of_a_request_are_reported() -> None:
    ran = run(["Hello"])
    (finished,) = ran.of("reply_finished")

    assert 0 < finished.seconds < 30
    assert ran.of("turn_ended")[0].seconds >= finished.seconds


def test_a_turn_that_has_not_started_is_running_and_is_empty() -> None:
    outcome = Outcome()

    assert (outcome.status, outcome.text, outcome.error, outcome.rounds) == ("running", "", None, [])
    assert (outcome.end_reason, outcome.error_phase) == ("", "")


def test_a_meter_that_has_not_started_has_counted_nothing() -> None:
    meter = Meter(Limits())

    assert (meter.rounds, meter.calls, meter.usage, meter.reached_limit()) == (0, 0, Usage(), None)


def test_a_turn_knows_no_reply_before_there_is_one() -> None:
    seen: list[tuple[str, str]] = []

    class Looking:
        def on_turn_start(self, context: TurnContext) -> None:
            seen.append((context.status, context.text))

    run(["Hello"], Looking())

    assert seen[0] == ("running", "")


def test_a_delta_of_another_kind_passes_as_it_is() -> None:
    ran = run([[TextDelta("a"), TextDelta("b"), ReplyEnd("stop")]])

    assert ran.outcome.text == "ab"


def test_a_plugin_that_fails_at_the_start_is_reported_as_a_hook() -> None:
    class Failing:
        def on_turn_start(self, _: TurnContext) -> None:
            raise ValueError("no")

    ran = run(["Hello"], Failing())

    assert ran.outcome.status == "error"
    assert [event.phase for event in ran.of("error_raised")] == ["hook"]
    assert [event.error_phase for event in ran.of("turn_ended")] == ["hook"]


def test_a_clean_up_that_fails_is_reported_as_one() -> None:
    class Littering:
        def on_turn_start(self, _: TurnContext) -> object:
            def clean_up() -> None:
                raise ValueError("no end")

            return clean_up

    ran = run(["Hello"], Littering())

    assert str(ran.outcome.error) == "The plugin Littering failed in a clean-up: ValueError: no end"
    assert ran.outcome.status == "error"
    assert [event.status for event in ran.of("turn_ended")] == ["error"]


def test_a_clean_up_that_fails_leaves_a_turn_stopped_that_was_stopped() -> None:
    class Littering:
        def on_turn_start(self, _: TurnContext) -> object:
            def clean_up() -> None:
                raise ValueError("no end")

            return clean_up

        def on_before_request(self, context: RequestContext) -> None:
            context.turn.cancel.cancel()

    ran = run(["Hello"], Littering())

    assert ran.outcome.status == "cancelled"
    assert "no end" in str(ran.outcome.error)


class FailsAfterAReply:
    """Fails after a reply, at once, after a turn of the loop, or when another plugin has failed."""

    def __init__(self, name: str, when: str = "") -> None:
        self.name, self.when = name, when

    async def on_after_request(self, _: object) -> None:
        try:
            if self.when == "stopped":
                await asyncio.Event().wait()
            elif self.when == "later":
                await asyncio.sleep(0)
        finally:
            raise ValueError(self.name)


@pytest.mark.parametrize("when", ["", "later", "stopped"])
def test_each_plugin_that_fails_after_a_reply_is_reported(when: str) -> None:
    ran = run(["Hello"], FailsAfterAReply("one", "later" if when == "later" else ""), FailsAfterAReply("two", when))

    assert isinstance(ran.outcome.error, BaseExceptionGroup)
    assert all(name in str(ran.outcome.error.exceptions) for name in ("one", "two"))
    assert [event.text.rpartition(" ")[2] for event in ran.of("error_raised")] == ["one", "two"]
    assert ran.outcome.status == "error"


def test_two_functions_that_fail_after_a_reply_are_reported() -> None:
    both = threading.Barrier(2)

    class Fails:
        def on_after_request(self, _: object) -> None:
            both.wait(240)
            raise ValueError("no")

    ran = run(["Hello"], Fails(), Fails())

    assert isinstance(ran.outcome.error, BaseExceptionGroup)
    assert len(ran.of("error_raised")) == 2


def test_a_turn_with_several_errors_names_no_phase_of_its_error() -> None:
    class Failing:
        def on_turn_start(self, turn: TurnContext) -> object:
            return lambda: getattr(turn, "missing")  # noqa: B009 - it raises when the turn is cleaned up

        def on_after_request(self, _: object) -> None:
            raise ValueError("no")

    ran = run(["Hello"], Failing())

    assert [event.phase for event in ran.of("error_raised")] == ["hook", "hook"]
    assert [event.error_phase for event in ran.of("turn_ended")] == [""]


def test_what_a_round_began_has_ended_before_the_clean_ups_run() -> None:
    order: list[str] = []

    class Slow:
        def on_turn_start(self, _: TurnContext) -> object:
            return lambda: order.append("cleaned up")

        async def on_after_request(self, _: object) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                for _step in range(5):
                    await asyncio.sleep(0)
                order.append("ended")

    class Failing:
        async def on_after_request(self, _: object) -> None:
            await asyncio.sleep(0)
            raise ValueError("no")

    run(["Hello"], Slow(), Failing())

    assert order == ["ended", "cleaned up"]


class FailsInTheEnd:
    """Fails when the turn has ended, and in its clean-up."""

    async def on_turn_start(self, _: TurnContext) -> Callable[[], None]:
        def clean_up() -> None:
            raise OSError("the clean-up failed")

        return clean_up

    async def on_turn_end(self, _: TurnContext) -> None:
        raise OSError("the end failed")


def test_what_fails_after_the_last_reply_is_an_error_of_a_hook() -> None:
    result = run(["Hello."], FailsInTheEnd())

    errors = result.of("error_raised")
    assert [event.phase for event in errors] == ["hook", "hook"]  # type: ignore[attr-defined]
