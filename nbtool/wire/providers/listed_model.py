"""The models that a provider lists, with what it says of each; the fields differ from provider to provider."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_CONTEXT_FIELDS = ("context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit")
_SHUTDOWN_FIELDS = ("shutdown_date", "deprecation", "deprecation_date", "retirement_date", "expiration_date")
_ABILITY_FIELDS = (
    "capabilities",
    "supported_parameters",
    "abilities",
    "supported_features",
    "supportedGenerationMethods",
)

MAX_CONTEXT = 1_000_000_000
"""Largest number of tokens that is taken for the context window of a model."""

MAX_ABILITY = 40
"""Maximum length of the name of an ability; longer ones are skipped."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a provider's list; `shutdown` is its announced last day, `context` is in tokens (0: unknown)."""

    name: str
    context: int = 0
    shutdown: dt.date | None = None
    abilities: tuple[str, ...] = ()


def parse_listed_model(item: dict[str, Any], name: str) -> ListedModel:
    """Read one entry of a list of models."""
    contexts = (item.get(field) for field in _CONTEXT_FIELDS)
    context = next((entry for entry in contexts if type(entry) is int and 0 < entry <= MAX_CONTEXT), 0)
    shutdown = next((day for field in _SHUTDOWN_FIELDS if (day := _parse_day(item.get(field)))), None)
    abilities = [
        ability_name
        for field in _ABILITY_FIELDS
        for ability_name in _ability_names(item.get(field))
        if len(ability_name) <= MAX_ABILITY
    ]
    return ListedModel(name, context, shutdown, tuple(dict.fromkeys(abilities)))


def _ability_names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if item is True or (isinstance(item, dict) and item.get("supported") is True):
                yield str(name)
    elif isinstance(value, list):
        yield from (text for text in value if isinstance(text, str))


def _parse_day(value: Any) -> dt.date | None:
    """Read a date in ISO 8601, or a time in seconds since the epoch."""
    try:
        if isinstance(value, str):
            return dt.datetime.fromisoformat(value).date()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return dt.datetime.fromtimestamp(value, dt.UTC).date()
    except (ValueError, OverflowError, OSError):
        pass
    return None
