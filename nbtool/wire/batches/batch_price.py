"""The part of its usual price that a provider takes for a request in a batch."""

from __future__ import annotations

from nbtool.wire.providers.model_data import model_data
from nbtool.wire.transport.http_endpoint import HttpEndpoint


def batch_price_factor(endpoint: HttpEndpoint) -> float:
    """Return the factor of the usual price; 1 where it is not known: rather too much than too little."""
    return model_data().batch_prices.get(endpoint.provider, 1.0) if endpoint.is_own_host else 1.0
