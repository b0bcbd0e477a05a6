"""Requests of a person to stop one running call; the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class CallStops:
    """The running calls of a turn, and which of them are to stop; on nbtool's loop only."""

    def __init__(self) -> None:
        self._requests: dict[str, asyncio.Future[None]] = {}

    @contextmanager
    def listen(self, call_id: str) -> Iterator[asyncio.Future[None]]:
        """Return a future that is done when a person stops this call, while it runs."""
        former = self._requests.pop(call_id, None)
        request = self._requests[call_id] = asyncio.get_running_loop().create_future()
        try:
            yield request
        finally:
            del self._requests[call_id]
            if former:  # a question to the person before the call itself
                self._requests[call_id] = former

    def stop(self, call_id: str) -> bool:
        """Request the end of a call; return whether it runs. Any other id has no effect."""
        request = self._requests.get(call_id)
        if request is None or request.done():
            return False
        request.set_result(None)
        return True
