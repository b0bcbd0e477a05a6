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
from nbtool.wire.providers.model_id import is_same_model

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

PriceFunction = Callable[[Usage], float]
"""Returns the cost of a usage in US dollars."""

ReplyPriceFunction = Callable[[Usage], float | None]
"""Returns the cost of a whole reply in US dollars; None if the price of a model that took part is unknown."""

MILLION = 1_000_000
SAMPLE = 1_000
"""Tokens of which the price is computed; longer prompts have a higher one with some models."""

_PROVIDER_IDS = {"xai": "x-ai", "moonshot": "moonshotai", "bedrock": "aws", "vertex": "google"}
"""Our names of providers, and their ids in the price data where they differ."""


_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cached_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cache_write_1h_tokens": "cache_write_1h_tokens",
    "input_audio_tokens": "input_audio_tokens",
    "output_audio_tokens": "output_audio_tokens",
    "cache_audio_read_tokens": "cached_audio_tokens",
    "input_image_tokens": "input_image_tokens",
    "output_image_tokens": "output_image_tokens",
    "cache_image_read_tokens": "cached_image_tokens",
    "web_searches": "web_searches",
}
"""The counts of the price data, and ours."""


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
        bounded = usage.bounded()
        counts = PricedUsage(**{name: getattr(bounded, own) for name, own in _COUNTS.items()})
        calculation = info.calc_price(counts, price_provider, genai_request_timestamp=datetime.now(UTC))
        return float(calculation.total_price)

    return cost_of if info.prices else None


def find_reply_price(provider: str, model: str, *, base_url: str = "", is_strict: bool = False) -> ReplyPriceFunction:
    """Return the function that computes the cost of a reply, each part at the price of the model that it names.

    A part without a name, or of a model of unknown price, has the price of `model`; if `is_strict`, the latter only
    where both are names of one model. None: a price is unknown.
    """

    def cost_of(usage: Usage) -> float | None:
        total = 0.0
        for part in usage.parts():
            found = find_price_function(provider, part.model, base_url=base_url) if part.model else None
            if found is None and not (is_strict and part.model and not is_same_model(model, part.model)):
                found = find_price_function(provider, model, base_url=base_url)
            if found is None:
                return None
            total += found(part)
        return total

    return cost_of


def find_model_price(provider: str, model: str, *, base_url: str = "") -> ModelPrice:
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
