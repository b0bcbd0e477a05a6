from __future__ import annotations

import pytest

from nbtool.wire.framing.retry_delay import retry_after, until_reset

NOW = 1_445_412_470.0  # ten seconds before the date below


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_from_seconds_milliseconds_or_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=NOW) == seconds


def test_a_date_is_counted_from_now_where_no_time_is_given() -> None:
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"llm_provider-retry-after": "7"}, 7.0), ({"llm_provider-retry-after-ms": "250"}, 0.25),
        ({"retry-after": "3", "llm_provider-retry-after": "7"}, 3.0), ({"llm_provider-retry-after": "soon"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 1.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1d2h3m4.5s"}, 93_784.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000009000"}, 9.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000005"}, 5.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1600000000"}, 0.0),
        ({"llm_provider-x-ratelimit-remaining-tokens": "0", "llm_provider-x-ratelimit-reset-tokens": "2s"}, 2.0),
        ({"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "60s"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "nan"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None), ({"x-ratelimit-remaining": "0"}, None),
    ],
)  # fmt: skip
def test_a_wait_is_read_wherever_it_is(headers: dict[str, str], seconds: float | None) -> None:
    now = 1_700_000_000.0
    asked = retry_after(headers, now=now)
    found = asked if asked is not None else until_reset(headers, now=now)

    assert found == (seconds if seconds is None else pytest.approx(seconds))
