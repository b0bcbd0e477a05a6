"""Clear what the process keeps between requests: connections, and what models refused."""

from __future__ import annotations

import asyncio

from nbtool.wire.endpoints.adaptive_endpoint import _adaptations, _reported_shutdowns
from nbtool.wire.endpoints.reply_cost import _reported_models
from nbtool.wire.transport.client_pool import _clients


async def close_clients() -> None:
    """Close the running loop's connections."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


def clear_adaptations() -> None:
    """Forget what models refused, and which shutdowns and other models were reported."""
    _adaptations.clear()
    _reported_shutdowns.clear()
    _reported_models.clear()
