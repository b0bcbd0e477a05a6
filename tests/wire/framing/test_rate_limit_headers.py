"""The headers by which providers report what is left of their limits."""

from __future__ import annotations

import httpx
import pytest

from nbtool.wire.framing.rate_limits import RateLimit, parse_rate_limits

NOW = 1_796_000_000.0

OPENAI = {
    "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6m0s",
}  # fmt: skip
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2026-11-30T00:53:30Z", "anthropic-ratelimit-input-tokens-limit": "40000",
    "anthropic-ratelimit-input-tokens-remaining": "39000",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-30T00:53:20Z",
}  # fmt: skip


def test_openai() -> None:
    assert parse_rate_limits(OPENAI) == {
        "requests": RateLimit(60, 59, 1.0),
        "tokens": RateLimit(150_000, 149_984, 360.0),
    }


def test_anthropic() -> None:
    found = parse_rate_limits(ANTHROPIC, now=NOW)

    assert set(found) == {"requests", "input-tokens"}
    assert (found["requests"].limit, found["requests"].remaining) == (50, 0)


def test_a_proxy_of_litellm() -> None:
    assert parse_rate_limits({f"llm_provider-{name}": value for name, value in OPENAI.items()}) == parse_rate_limits(
        OPENAI
    )


@pytest.mark.parametrize("text", ["", "many", "nan", "inf", "-1", "0", "1e999", "9" * 5_000])
def test_what_is_no_limit_is_left_out(text: str) -> None:
    found = parse_rate_limits({**OPENAI, "x-ratelimit-limit-requests": text})

    assert "requests" not in found or found["requests"].limit < float("inf")


@pytest.mark.parametrize("text", ["", "soon", "2026-99-99T00:00:00Z", "nan", "-5"])
def test_a_reset_that_cannot_be_read_is_not_known(text: str) -> None:
    found = parse_rate_limits({**OPENAI, "x-ratelimit-reset-requests": text})

    assert found["requests"].reset is None or found["requests"].reset >= 0


def test_names_are_found_in_any_case_and_others_are_none() -> None:
    assert parse_rate_limits(httpx.Headers({name.title(): value for name, value in OPENAI.items()})) == (
        parse_rate_limits(OPENAI)
    )
    assert parse_rate_limits({"content-type": "text/event-stream", "x-request-id": "1"}) == {}
