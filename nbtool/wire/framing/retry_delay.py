"""The delays before a further request that servers ask for: in headers, and in the details of an error."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

_RESET_HEADERS = (
    ("retry-after-ms", 1000.0), ("llm_provider-retry-after-ms", 1000.0), ("retry-after", 1.0),
    ("llm_provider-retry-after", 1.0),
)  # fmt: skip
"""Headers with a delay, and their units per second; a LiteLLM proxy prefixes those of its provider with
`llm_provider-`."""

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_IN_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the delay in seconds that the provider requests, or None if it is missing or invalid.

    `retry-after-ms` is more precise and takes precedence; `retry-after` is in seconds or a date (RFC 9110 section
    10.2.3).
    """
    for name, unit in _RESET_HEADERS:
        if not (text := headers.get(name, "").strip()):
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _seconds_until(text, time.time() if now is None else now)
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def until_reset(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds until an exhausted rate limit is reset; None if no limit is reported as exhausted.

    OpenAI and compatible servers send `x-ratelimit-remaining-requests: 0` and `x-ratelimit-reset-requests: 6m0s`
    (https://platform.openai.com/docs/guides/rate-limits), and the same for tokens; OpenRouter sends
    `x-ratelimit-reset` in milliseconds since the epoch, others in seconds.
    """
    now = time.time() if now is None else now
    delays: list[float | None] = []
    for prefix in ("x-ratelimit-", "llm_provider-x-ratelimit-"):
        for limit_name in ("", "-requests", "-tokens"):
            if headers.get(f"{prefix}remaining{limit_name}", "").strip() == "0":
                delays.append(seconds_of(headers.get(f"{prefix}reset{limit_name}", "").strip(), now))
    return max((delay for delay in delays if delay is not None), default=None)


def seconds_of(text: str, now: float) -> float | None:
    """Return the seconds of a duration (`6m0s`), a number, or until a time since the epoch; None for anything else."""
    try:
        number = float(text)
    except ValueError:
        match = _DURATION.fullmatch(text)
        parts = match.groups() if match and text else ()
        return sum(float(part or 0) * unit for part, unit in zip(parts, _IN_SECONDS, strict=True)) if parts else None
    if number > 1e11:
        number /= 1000
    seconds = number - now if number > 1e9 else number
    return max(0.0, seconds) if math.isfinite(seconds) else None


def delay_in_error(payload: Any) -> float | None:
    """Return the delay in the details of Google's errors (`google.rpc.RetryInfo`); None if there is none."""
    payload = next(iter(payload), None) if isinstance(payload, list) else payload
    error = payload.get("error") if isinstance(payload, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type")).endswith("google.rpc.RetryInfo"):
            return seconds_of(str(detail.get("retryDelay") or ""), time.time())
    return None


def _seconds_until(date: str, now: float) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except ValueError:
        return math.nan
