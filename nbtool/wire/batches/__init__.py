"""Batches of requests that a provider answers within a day, at a lower price.

batch_api.py    what the endpoints of all providers have in common: lines, states, results
openai.py       files and /batches, for Chat Completions and Responses
anthropic.py    /messages/batches
gemini.py       :batchGenerateContent
batch_price.py  the part of its usual price that a provider takes
"""

from nbtool.wire.batches.anthropic import AnthropicBatches
from nbtool.wire.batches.batch_api import BatchApi, BatchLine, LineResult, ProviderBatch
from nbtool.wire.batches.batch_price import batch_price_factor
from nbtool.wire.batches.gemini import GeminiBatches
from nbtool.wire.batches.openai import OpenAiBatches
from nbtool.wire.transport.http_endpoint import HttpEndpoint

__all__ = ["BatchApi", "BatchLine", "LineResult", "ProviderBatch", "batch_price_factor", "find_batch_api"]


def find_batch_api(endpoint: HttpEndpoint) -> BatchApi | None:
    """Return the batch endpoints beside an endpoint, by its dialect; None if that has none."""
    match endpoint.dialect:
        case "chat" | "responses":
            return OpenAiBatches(endpoint)
        case "anthropic":
            return AnthropicBatches(endpoint)
        case "gemini":
            return GeminiBatches(endpoint)
    return None
