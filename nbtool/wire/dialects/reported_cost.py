"""The cost of a reply, as providers and gateways report it in its usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TICKS_PER_DOLLAR = 10_000_000_000
"""The unit of `cost_in_usd_ticks`: https://docs.x.ai/docs/models."""


def reported_cost(usage: Mapping[str, Any]) -> float | None:
    """Return the cost in US dollars (OpenRouter, Perplexity, xAI); None if it is not reported."""
    cost = usage.get("cost")
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    ticks = _amount(usage.get("cost_in_usd_ticks"))
    return _amount(cost) if ticks is None or _amount(cost) is not None else ticks / TICKS_PER_DOLLAR


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < float("inf") else None
