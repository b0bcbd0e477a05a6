"""The endpoint of a turn whose reply came in a batch: it sends nothing, and yields that reply once."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

from nbtool.errors import BadUsage, WireError
from nbtool.events import Delta, ReplyEnd, UsageDelta
from nbtool.messages import Usage
from nbtool.wire.base import Decoder, Prompt
from nbtool.wire.batches import LineResult
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.endpoints.reply_cost import with_cost
from nbtool.wire.providers.model_prices import PriceFunction

ONE_REPLY = "In a batch each prompt has one reply, and a plugin asks for another one."


class BatchReplyEndpoint:
    """Replaces an endpoint: yields the reply of a line, at a part of the usual price (`factor`).

    Everything else is the endpoint's own.
    """

    def __init__(self, endpoint: AdaptiveEndpoint, result: LineResult, factor: float) -> None:
        self.host, self.model, self.dialect = endpoint.host, endpoint.model, endpoint.dialect
        self.abilities = endpoint.abilities
        self._endpoint, self._result, self._factor = endpoint, result, factor
        self._is_used = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    async def find_price(self) -> PriceFunction | None:
        """Return the function that computes the cost of a usage in a batch."""
        price = await self._endpoint.find_price()
        return None if price is None else lambda usage: price(usage) * self._factor

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the reply.

        Raises:
            nbtool.errors.WireError: the provider reported an error in its place, or it cannot be read.
            nbtool.errors.BadUsage: it is asked for a second time.
        """
        if self._is_used:
            raise BadUsage(ONE_REPLY, fix="Leave out batch=, or the plugin.")
        self._is_used = True
        if self._result.error:
            raise self._result.error
        http = self._endpoint.adapted
        prefix = http.preview(prompt).prefix
        async for batch in with_cost(http, _decode(http.wire.decoder(stream=False), self._result.body, prefix)):
            for delta in batch:
                yield self._priced(delta)

    def _priced(self, delta: Delta) -> Delta:
        """Return a delta with the price of a batch, where the cost is computed: the provider's own is that already."""
        if not (isinstance(delta, UsageDelta) and delta.usage.is_cost_estimated and delta.usage.cost is not None):
            return delta
        usage: Usage = replace(delta.usage, cost=delta.usage.cost * self._factor)
        return replace(delta, usage=usage)


async def _decode(decoder: Decoder, body: Any, prefix: str) -> AsyncGenerator[list[Delta], None]:
    """Yield the deltas of a whole reply; an error follows what came before it."""
    deltas: list[Delta] = []
    try:
        decoder.feed(json.dumps(body).encode(), deltas)
        decoder.close(deltas)
    except WireError:
        if deltas:
            yield deltas
        raise
    if deltas and isinstance(deltas[-1], ReplyEnd):
        deltas[-1].prefix = prefix
    if deltas:
        yield deltas
