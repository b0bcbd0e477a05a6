from __future__ import annotations

import pytest

from nbtool.wire.transport.retry import RetryPolicy, format_delay


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
