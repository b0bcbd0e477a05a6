"""The cost of replies whose provider reports none, computed from their tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from nbtool.events import Delta, ProviderDelta, ReplyEnd, UsageDelta
from nbtool.messages import ProviderCall, Usage
from nbtool.server_url import parse_server_url
from nbtool.thread_pool import run_in_worker
from nbtool.wire.providers.model_prices import PriceFunction, find_price_function
from nbtool.wire.providers.provider import FREE
from nbtool.wire.transport.client_pool import is_loopback
from nbtool.wire.transport.http_endpoint import HttpEndpoint


async def find_price(endpoint: HttpEndpoint) -> PriceFunction | None:
    """Return the function that computes the cost of a usage; None if the price of the model is unknown.

    The price of a provider holds at its own host only.
    """
    if _is_unlisted(endpoint):
        return None
    outcome = await run_in_worker(partial(find_price_now, endpoint))
    return None if outcome.error else outcome.value


def find_price_now(endpoint: HttpEndpoint) -> PriceFunction | None:
    """Return what `find_price` does; may take some tenths of a second."""
    if _is_unlisted(endpoint):
        return None
    return find_price_function(_listed_provider(endpoint), endpoint.model, base_url=endpoint.base_url)


def _listed_provider(endpoint: HttpEndpoint) -> str:
    return endpoint.provider if endpoint.is_own_host else ""


def _is_unlisted(endpoint: HttpEndpoint) -> bool:
    """Whether no list has a price for it: a server on this machine. Needs neither the lists nor a thread."""
    return not _listed_provider(endpoint) and is_loopback(parse_server_url(endpoint.base_url).host)


async def with_cost(endpoint: HttpEndpoint, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
    """Yield the deltas of a reply and, if it is of unknown cost, its usage with the computed cost.

    The tokens of a partial reply are priced too.
    """
    usage, is_looked_up, has_tools = Usage(), False, False
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                passed: Delta = delta
                if isinstance(delta, UsageDelta):
                    usage, is_looked_up = delta.usage.with_extra_tokens(), False
                    passed = UsageDelta(usage)
                elif isinstance(delta, ReplyEnd) and usage.is_unpriced:
                    usage, is_looked_up = await _priced(endpoint, usage, has_tools=has_tools), True
                    yield UsageDelta(usage)
                has_tools = has_tools or (isinstance(delta, ProviderDelta) and isinstance(delta.part, ProviderCall))
                yield passed
    except Exception:
        if usage.is_unpriced and not is_looked_up:
            yield UsageDelta(await _priced(endpoint, usage, has_tools=has_tools))
        raise
    if usage.is_unpriced and not is_looked_up:
        yield UsageDelta(await _priced(endpoint, usage, has_tools=has_tools))


async def _priced(endpoint: HttpEndpoint, usage: Usage, *, has_tools: bool) -> Usage:
    """Return a usage without a cost with the computed one, or marked as of unknown cost.

    Prices are per token: what the provider charges for the tools that it runs is not known.
    """
    if cost_of := await find_price(endpoint):
        return replace(usage, cost=cost_of(usage), is_cost_estimated=True, lacks_tool_cost=has_tools)
    return replace(usage, is_cost_unknown=FREE not in endpoint.abilities, lacks_tool_cost=has_tools)
