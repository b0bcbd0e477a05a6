"""Batches of requests that a provider answers within a day, at a lower price.

batch_api.py    what the endpoints of all providers have in common: lines, states, results
openai.py       files and /batches, for Chat Completions and Responses
anthropic.py    /messages/batches
gemini.py       :batchGenerateContent
batch_price.py  the part of its usual price that a provider takes
"""

from collections.abc import Callable
from importlib import import_module

from nbtool.wire.batches.batch_api import BatchApi, BatchLine, LineResult, ProviderBatch
from nbtool.wire.batches.batch_price import batch_price_factor
from nbtool.wire.dialect import find_dialect
from nbtool.wire.transport.http_endpoint import HttpEndpoint

__all__ = ["BatchApi", "BatchLine", "LineResult", "ProviderBatch", "batch_price_factor", "find_batch_api"]


def find_batch_api(endpoint: HttpEndpoint) -> BatchApi | None:
    """Return the batch endpoints beside an endpoint, by its dialect; None if that has none."""
    module, _, name = find_dialect(endpoint.dialect).batches.partition(":")
    api: Callable[[HttpEndpoint], BatchApi] | None = getattr(import_module(module), name) if module else None
    return api(endpoint) if api else None
