"""What models cost, and how much context they take: from the data that ships with genai-prices, never fetched.

The import takes some tenths of a second, so these functions belong in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from nbtool.messages import Usage
from nbtool.wire.providers.model_data import MAX_NAME

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

PriceFunction = Callable[[Usage], float]
"""Returns the cost of a usage in US dollars."""

MILLION = 1_000_000
SAMPLE = 1_000
"""Tokens of which the price is computed; longer prompts have a higher one with some models."""

_PROVIDER_IDS = {"xai": "x-ai", "moonshot": "moonshotai", "bedrock": "aws", "vertex": "google"}
"""Our names of providers, and their ids in the price data where they differ."""


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars per million tokens of input and output, and the size of the context in tokens; None if unknown."""

    input: float | None = None
    output: float | None = None
    context: int | None = None


@cache
def find_price_function(provider: str, model: str, *, base_url: str = "") -> PriceFunction | None:
    """Return the function that computes the cost of a model's usage; None if its price is unknown.

    Without a provider, the one whose address this is.
    """
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - large data, loaded when a price is first needed

    if (found := _find(provider, model, base_url)) is None:
        return None
    price_provider, info = found

    def cost_of(usage: Usage) -> float:
        counts = PricedUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        calculation = info.calc_price(counts, price_provider, genai_request_timestamp=datetime.now(UTC))
        return float(calculation.total_price)

    return cost_of if info.prices else None


def find_price(provider: str, model: str, *, base_url: str = "") -> ModelPrice:
    """Return the price and the context of a model, as far as they are known."""
    found = _find(provider, model, base_url)
    if found is None:
        return ModelPrice()
    cost_of = find_price_function(provider, model, base_url=base_url)
    context = found[1].context_window
    if cost_of is None:
        return ModelPrice(context=context)
    return ModelPrice(cost_of(Usage(SAMPLE)) * MILLION / SAMPLE, cost_of(Usage(0, SAMPLE)) * MILLION / SAMPLE, context)


def _find(provider: str, model: str, base_url: str) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - as above

    provider_id, url = (_PROVIDER_IDS.get(provider, provider), None) if provider else (None, base_url or None)
    if not (provider_id or url) or len(model) > MAX_NAME:
        return None
    try:
        return get_snapshot().find_provider_model(model, None, provider_id, url)
    except LookupError:
        return None
