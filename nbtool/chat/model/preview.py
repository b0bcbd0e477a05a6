"""The first request of a turn, shown without sending it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol, runtime_checkable

from nbtool.events import Delta
from nbtool.wire.base import Prompt, Request


@runtime_checkable
class PreviewableEndpoint(Protocol):
    """An endpoint that can build a request without sending it."""

    host: str
    model: str
    dialect: str

    def preview(self, prompt: Prompt) -> Request:
        """Return the request that `stream` would make."""


class PreviewEndpoint:
    """Replace an endpoint: store the request that it would send, without a reply.

    Everything else is the endpoint's own, such as its provider and its prices: what is refused or changed before a
    request is sent has to be the same.
    """

    def __init__(self, endpoint: PreviewableEndpoint) -> None:
        self.host, self.model, self.dialect = endpoint.host, endpoint.model, endpoint.dialect
        self.abilities: frozenset[str] = getattr(endpoint, "abilities", frozenset())
        self._endpoint = endpoint
        self.request = Request("", {}, stream=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Store the request; yields nothing."""
        self.request = self._endpoint.preview(prompt)
        nothing: tuple[Delta, ...] = ()
        for delta in nothing:
            yield delta
