"""The limits that a provider reports in the headers of an answer: requests and tokens, what is left, and until when.

OpenAI and compatible servers: https://platform.openai.com/docs/guides/rate-limits. Anthropic:
https://docs.claude.com/en/api/rate-limits. Groq names a limit of requests per day in the same headers:
https://console.groq.com/docs/rate-limits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from nbtool.wire.framing.retry_delay import seconds_of

Unit = Literal["requests", "tokens", "input-tokens", "output-tokens"]

UNITS: tuple[Unit, ...] = ("requests", "tokens", "input-tokens", "output-tokens")

FORMS = (
    "x-ratelimit-{field}-{unit}", "llm_provider-x-ratelimit-{field}-{unit}", "anthropic-ratelimit-{unit}-{field}",
    "llm_provider-anthropic-ratelimit-{unit}-{field}",
)  # fmt: skip
"""The names of the headers; a LiteLLM proxy prefixes those of its provider with `llm_provider-`."""

_MARK = "ratelimit"
"""What the names of all these headers have: most servers send none of them, and each look-up takes a while."""

_NAMES: Mapping[Unit, list[list[str]]] = {
    unit: [[form.format(unit=unit, field=field) for field in ("limit", "remaining", "reset")] for form in FORMS]
    for unit in UNITS
}


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A limit: how much of it is left, and the seconds until it is whole again; None where that is not reported."""

    limit: float
    remaining: float
    reset: float | None = None


def parse_rate_limits(headers: Mapping[str, str], *, now: float | None = None) -> dict[Unit, RateLimit]:
    """Return the limits in the headers of an answer; what is not readable is left out."""
    if not any(_MARK in name.lower() for name in headers):
        return {}
    at = time.time() if now is None else now
    found: dict[Unit, RateLimit] = {}
    for unit, forms in _NAMES.items():
        for names in forms:
            texts = [headers.get(name, "").strip() for name in names]
            limit, remaining = _number(texts[0]), _number(texts[1])
            if limit and remaining is not None:
                found[unit] = RateLimit(limit, min(limit, remaining), _seconds(texts[2], at))
                break
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds(text: str, now: float) -> float | None:
    """Return the seconds until a reset, which is a duration (`6m0s`), a number, or a time (`2026-11-29T12:00:00Z`)."""
    if text[:4].isdecimal() and "T" in text:
        try:
            return max(0.0, datetime.fromisoformat(text).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    return seconds_of(text, now)
