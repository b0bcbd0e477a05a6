"""The delays that the requests of a map share, by a clock of the test."""

from __future__ import annotations

import asyncio

import pytest

from nbtool.chat.batch.prompt_retries import PromptRetries
from nbtool.chat.batch.shared_backoff import MAX_WAIT_SECONDS, SharedBackoff
from nbtool.errors import (
    ConnectionFailed,
    IncompleteReply,
    NbtoolError,
    ProviderError,
    RateLimited,
    ServerOverloaded,
    TimedOut,
)
from tests.chat.batch.sleeping_clock import SleepingClock


class BackoffClock(SleepingClock):
    """The clock of back-offs."""

    def backoff(self, per_minute: float | None = None) -> SharedBackoff:
        return SharedBackoff(per_minute, clock=self, sleep=self.sleep)


def sent_at(clock: BackoffClock, *backoffs: SharedBackoff) -> list[float]:
    """Send one request with each, all at once, and return the seconds until each was allowed."""
    start, sent = clock.now, list[float]()

    async def send(backoff: SharedBackoff) -> None:
        await backoff.wait()
        sent.append(clock.now - start)

    async def send_all() -> None:
        await asyncio.gather(*map(send, backoffs))

    asyncio.run(send_all())
    return sent


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("wait", status=429),
        ServerOverloaded("busy", status=503),
        ServerOverloaded("busy", status=529),
        ServerOverloaded("busy in the stream"),
        ServerOverloaded("busy", status=400),
        ServerOverloaded("failed, with a Retry-After", status=500, retry_after=2.0),
        ConnectionFailed("gone"),
        TimedOut("silent"),
    ],
)
def test_all_requests_wait_for_a_provider_that_is_busy_or_not_there(error: NbtoolError) -> None:
    clock = BackoffClock()
    backoff = clock.backoff()
    delay = backoff.delay_after(error, 1)

    assert delay
    assert backoff.remaining == pytest.approx(delay)
    assert sent_at(clock, backoff, backoff) == pytest.approx([delay, delay])


@pytest.mark.parametrize(
    "error",
    [
        ServerOverloaded("failed", status=500),
        ServerOverloaded("failed", status=502),
        ServerOverloaded("failed", status=504),
        ProviderError("conflict", status=409),
        IncompleteReply("empty"),
    ],
)
def test_one_request_that_fails_delays_no_other(error: NbtoolError) -> None:
    backoff = BackoffClock().backoff()

    assert backoff.delay_after(error, 1)
    assert backoff.remaining == 0


def test_a_delay_that_is_too_long_is_not_waited_for() -> None:
    backoff = BackoffClock().backoff()

    assert backoff.delay_after(RateLimited("wait", status=429, retry_after=MAX_WAIT_SECONDS + 1), 1) is None
    assert backoff.remaining == 0


@pytest.mark.parametrize("limit", [0, 2])
def test_the_other_prompts_wait_also_when_one_gives_up(limit: int) -> None:
    backoff, busy = BackoffClock().backoff(), RateLimited("wait", status=429, retry_after=2.0)

    assert PromptRetries(backoff, limit).delay_after(busy, limit + 1) is None
    assert backoff.remaining == pytest.approx(2.0)


def test_the_other_prompts_wait_also_for_an_endpoint_of_the_user() -> None:
    backoff = BackoffClock().backoff()

    assert not PromptRetries(backoff, 0).may_repeat_turn(RateLimited("wait", status=429, retry_after=2.0))
    assert backoff.remaining == pytest.approx(2.0)


def test_requests_are_spread_over_the_minute() -> None:
    clock = BackoffClock()
    backoff = clock.backoff(per_minute=3)

    assert sent_at(clock, *[backoff] * 7) == [0, 20, 40, 60, 80, 100, 120]


def test_they_are_spread_after_a_delay_of_all_too() -> None:
    clock = BackoffClock()
    backoff = clock.backoff(per_minute=2)
    backoff.pause(100)

    assert sent_at(clock, *[backoff] * 3) == [100, 130, 160]


def test_a_request_that_is_cancelled_while_it_waits_takes_no_place() -> None:
    clock, slept = BackoffClock(), asyncio.Event()
    wake = asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.set()
        await wake.wait()
        clock.now += seconds

    async def run() -> float:
        backoff = SharedBackoff(2, clock=clock, sleep=sleep)
        await backoff.wait()
        cancelled = asyncio.ensure_future(backoff.wait())
        await slept.wait()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        wake.set()
        await backoff.wait()
        return clock.now

    assert asyncio.run(run()) == 1_030
