"""The cost of replies whose provider reports none, computed from their tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from nbtool.events import Delta, ProviderDelta, ReplyEnd, StreamNotice, UsageDelta
from nbtool.messages import ProviderCall, Usage
from nbtool.server_url import parse_server_url
from nbtool.threads.thread_pool import run_in_worker
from nbtool.wire.base import REPORTS_COST
from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.model_id import is_same_model
from nbtool.wire.providers.model_prices import (
    PriceFunction,
    ReplyPriceFunction,
    find_price_function,
    find_reply_price,
)
from nbtool.wire.providers.provider import FREE, Provider
from nbtool.wire.transport.client_pool import is_loopback
from nbtool.wire.transport.http_endpoint import HttpEndpoint


async def find_usage_price(endpoint: HttpEndpoint) -> PriceFunction | None:
    """Return the function that computes the cost of a usage; None if the price of the model is unknown.

    The price of a provider holds at its own host only.
    """
    if _is_unlisted(endpoint):
        return None
    outcome = await run_in_worker(partial(find_usage_price_now, endpoint))
    return None if outcome.error else outcome.value


def find_usage_price_now(endpoint: HttpEndpoint) -> PriceFunction | None:
    """Return what `find_usage_price` does; may take some tenths of a second."""
    if _is_unlisted(endpoint):
        return None
    return find_price_function(_listed_provider(endpoint), endpoint.model, base_url=endpoint.base_url)


def _listed_provider(endpoint: HttpEndpoint) -> str:
    return endpoint.provider if endpoint.is_own_host else ""


def _is_unlisted(endpoint: HttpEndpoint) -> bool:
    """Whether no list has a price for it: a server on this machine. Needs neither the lists nor a thread."""
    return not _listed_provider(endpoint) and is_loopback(parse_server_url(endpoint.base_url).host)


async def find_listed_price(endpoint: HttpEndpoint) -> ReplyPriceFunction | None:
    """Return the function that computes the cost of a reply from what holds at its host; None if nothing is known.

    Only the address counts, since names, addresses and abilities of providers can be set by the user: the price lists
    have prices by host, and a built-in provider that reports its costs does so at its own host.
    """
    origin = parse_server_url(endpoint.base_url).origin
    if any(REPORTS_COST in provider.abilities and _is_at(provider, origin) for provider in BUILTIN.values()):
        return _reported_cost
    if is_loopback(origin[1]):
        return None
    outcome = await run_in_worker(partial(_listed_price_now, endpoint))
    found: ReplyPriceFunction | None = None if outcome.error else outcome.value
    return found


def _reported_cost(usage: Usage) -> float | None:
    return None if usage.is_cost_estimated else usage.cost


def _is_at(provider: Provider, origin: tuple[str, str, int]) -> bool:
    return bool(provider.base_url) and parse_server_url(provider.base_url).origin == origin


def _listed_price_now(endpoint: HttpEndpoint) -> ReplyPriceFunction | None:
    if find_price_function("", endpoint.model, base_url=endpoint.base_url) is None:
        return None
    return find_reply_price("", endpoint.model, base_url=endpoint.base_url, is_strict=True)


async def with_cost(
    endpoint: HttpEndpoint, batches: AsyncGenerator[list[Delta], None]
) -> AsyncGenerator[list[Delta], None]:
    """Yield the deltas of a reply and, if it is of unknown cost, its usage with the computed cost.

    The tokens of a partial reply are priced too. If another model than the requested one answered, a notice says so.
    """
    reply = _UnpricedReply(endpoint)
    try:
        async with aclosing(batches):
            async for batch in batches:
                for delta in batch:
                    reply.add(delta)
                if isinstance(batch[-1], ReplyEnd):
                    batch[-1:] = [*reply.notices(), *await reply.priced(), batch[-1]]
                yield batch
    except Exception:
        if priced := await reply.priced():
            yield priced
        raise
    if priced := await reply.priced():
        yield priced


@dataclass(slots=True)
class _UnpricedReply:
    """The usage of a reply so far, and how many tools its provider ran."""

    endpoint: HttpEndpoint
    usage: Usage = field(default_factory=Usage)
    tools: int = 0

    def add(self, delta: Delta) -> None:
        if isinstance(delta, UsageDelta):
            self.usage = delta.usage
        self.tools += isinstance(delta, ProviderDelta) and isinstance(delta.part, ProviderCall)

    def notices(self) -> list[Delta]:
        text = other_model_notice(self.endpoint, self.usage.model)
        return [StreamNotice(text)] if text else []

    async def priced(self) -> list[Delta]:
        """Return the usage with its computed cost, once, if it has none."""
        usage, self.usage = self.usage, Usage()
        return [UsageDelta(await _priced(self.endpoint, usage, self.tools))] if usage.is_unpriced else []


async def _priced(endpoint: HttpEndpoint, usage: Usage, tools: int) -> Usage:
    """Return a usage without a cost with the computed one, or marked as of unknown cost.

    Of the `tools` that the provider ran, a price is known of searches at most, and only of those that it counts.
    """
    if _is_unlisted(endpoint):
        return replace(usage, is_cost_unknown=FREE not in endpoint.abilities, lacks_tool_cost=tools > 0)
    outcome = await run_in_worker(partial(_cost_now, endpoint, usage))
    if outcome.error or outcome.value is None:
        return replace(usage, is_cost_unknown=FREE not in endpoint.abilities, lacks_tool_cost=tools > 0)
    return replace(usage, cost=outcome.value, is_cost_estimated=True, lacks_tool_cost=tools > usage.web_searches)


def _cost_now(endpoint: HttpEndpoint, usage: Usage) -> float | None:
    return find_reply_price(_listed_provider(endpoint), endpoint.model, base_url=endpoint.base_url)(usage)


_reported_models: set[tuple[str, str, str]] = set()
"""Host, requested and answering model of the notices so far."""


def other_model_notice(endpoint: HttpEndpoint, answered: str) -> str:
    """Return the notice that another model answered; empty if it did not, and after the first time."""
    key = endpoint.host, endpoint.model, answered
    if not answered or is_same_model(endpoint.model, answered) or key in _reported_models:
        return ""
    _reported_models.add(key)
    return f"{answered} answered, in place of {endpoint.model}."
