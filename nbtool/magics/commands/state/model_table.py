"""The table of the models that a key can use: name, price, context, abilities, announced end."""

from __future__ import annotations

from fnmatch import fnmatch

from nbtool.blocks.sanitize import one_line
from nbtool.chat.model import Model
from nbtool.magics.commands.context import format_table
from nbtool.text import count_of
from nbtool.wire.providers.listed_model import ListedModel
from nbtool.wire.providers.model_data import find_shutdown
from nbtool.wire.providers.model_prices import ModelPrice

MAX_ABILITY_CHARS = 100
"""Maximum length of the abilities of a model in the table."""


def list_models(model: Model, pattern: str, names: list[str]) -> str:
    """Return the table of the provider's models that match a pattern, and store the names of all for completion.

    A pattern without wildcards matches anywhere in the name.
    """
    listed = model.fetch_models()
    names[:] = model.model_ids_of([listed_model.name for listed_model in listed])
    if not listed:
        return f"The provider of {model.name or 'this chat'} returned no models."
    wanted = pattern if set(pattern) & set("*?[") else f"*{pattern}*"
    provider = names[0].partition(":")[0]
    matching = [
        (name, model_id)
        for name, model_id in zip(listed, names, strict=True)
        if fnmatch(name.name.lower(), wanted.lower()) or fnmatch(model_id.lower(), wanted.lower())
    ]
    prices = model.prices_of([listed_model.name for listed_model, _ in matching])
    rows = [
        (one_line(model_id, 120), _describe(provider, item, price))
        for (item, model_id), price in zip(matching, prices, strict=True)
    ]
    if not rows:
        return f"None of the {count_of(len(listed), 'model')} matches {pattern!r}."
    has_prices = any("$" in description for _, description in rows)
    note = "\n\nPrices are US dollars per million tokens, input / output, from genai-prices." if has_prices else ""
    guidance = (
        f"\n\nThe practice model is no language model. It understands:\n{model.guidance}" if model.guidance else ""
    )
    return f"{format_table(*rows)}{note}{guidance}"


def _describe(provider: str, model: ListedModel, price: ModelPrice) -> str:
    shutdown = model.shutdown
    if shutdown is None and (announced := find_shutdown(provider, model.name)):
        shutdown = announced.day
    context = model.context or price.context or 0
    facts = [
        f"${price.input:g} / ${price.output:g}" if price.input is not None and price.output is not None else "",
        f"{count_of(context, 'token')} of context" if context else "",
        one_line(", ".join(model.abilities), MAX_ABILITY_CHARS),
        f"ends on {shutdown:%Y-%m-%d}" if shutdown else "",
    ]
    return "; ".join(fact for fact in facts if fact)
