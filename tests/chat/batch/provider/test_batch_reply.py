"""The price of a reply that came in a batch, and that there is only one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtool.chat.batch.provider.batch_reply import BatchReplyEndpoint
from nbtool.errors import BadUsage
from nbtool.events import UsageDelta
from nbtool.messages import Usage, user
from nbtool.wire.base import Prompt
from nbtool.wire.batches import LineResult, batch_price_factor
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.endpoints.model_endpoint import make_endpoint

BODY = {
    "id": "c", "model": "gpt-5-mini",
    "usage": {"prompt_tokens": 1_000, "completion_tokens": 500, "total_tokens": 1_500},
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
}  # fmt: skip
PROMPT = Prompt((user("Is it kind?"),), stream=False)


def replies(**options: Any) -> BatchReplyEndpoint:
    http = make_endpoint("openai:gpt-5-mini", api_key="sk-of-a-test", wire="chat", **options)
    return BatchReplyEndpoint(AdaptiveEndpoint(http, "fence"), LineResult("1", BODY), batch_price_factor(http))


def read(endpoint: BatchReplyEndpoint) -> Usage:
    async def run() -> Usage:
        return [delta.usage async for delta in endpoint.stream(PROMPT) if isinstance(delta, UsageDelta)][-1]

    return asyncio.run(run())


def test_a_reply_in_a_batch_costs_half_at_the_host_of_its_provider() -> None:
    endpoint = replies()
    price = asyncio.run(endpoint._endpoint.find_price())
    own = asyncio.run(endpoint.find_price())
    usage = read(endpoint)

    assert price is not None
    assert own is not None
    assert usage.is_cost_estimated
    assert usage.cost == pytest.approx(price(Usage(1_000, 500)) / 2)
    assert own(Usage(1_000, 500)) == pytest.approx(usage.cost)


def test_elsewhere_no_lower_price_is_assumed() -> None:
    assert (
        batch_price_factor(make_endpoint("openai:gpt-5-mini", base_url="https://gateway.invalid/v1", api_key="k")) == 1
    )


def test_a_second_reply_is_refused() -> None:
    endpoint = replies()
    read(endpoint)

    with pytest.raises(BadUsage):
        read(endpoint)
