from __future__ import annotations

import asyncio

import pytest

from nbtool.wire.transport.retry import Deadline, RetryPolicy, format_delay


def test_a_clock_that_has_run_out_does_not_let_a_wait_begin() -> None:
    clock = Deadline(10.0)
    clock.remaining = 0.0
    started = []

    async def wait() -> None:
        async with clock.running():
            started.append(True)

    with pytest.raises(TimeoutError):
        asyncio.run(wait())
    assert started == []


def test_a_clock_counts_only_while_it_is_waited_for_and_restarts() -> None:
    clock = Deadline(10.0)

    async def wait() -> None:
        async with clock.running():
            await asyncio.sleep(0)

    asyncio.run(wait())
    counted = clock.remaining
    assert 9.0 < counted < 10.0
    clock.reset(5.0)
    assert (clock.limit, clock.remaining) == (5.0, 5.0)


def test_a_wait_that_takes_too_long_ends_with_nothing_left() -> None:
    clock = Deadline(0.01)

    async def wait() -> None:
        async with clock.running():
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(wait())
    assert clock.remaining <= 0


def test_each_attempt_waits_twice_as_long_within_bounds() -> None:
    retries = RetryPolicy(5, min_delay=1.0)

    waits = [retries.delay(attempt, None) for attempt in (1, 2, 3)]
    assert [1.0 <= waits[0] <= 1.25, 2.0 <= waits[1] <= 2.5, 4.0 <= waits[2] <= 5.0] == [True] * 3
    assert retries.delay(30, None) == retries.max_delay
    assert retries.delay(1, 0.1) == 1.0
    assert retries.delay(1, 7.0) == 7.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(7.0, "in 7 s, at "), (119.0, "in 119 s, at "), (120.0, "in 2 minutes, at "), (86_400.0, "in 1440 minutes")],
)
def test_a_time_is_reported_in_seconds_or_minutes_and_with_the_hour_within_a_day(seconds: float, said: str) -> None:
    assert format_delay(seconds).startswith(said)
    assert (", at " in format_delay(seconds)) is (seconds < 86_400)
