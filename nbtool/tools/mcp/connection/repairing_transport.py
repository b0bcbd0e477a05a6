"""A transport whose answers are repaired before the package `mcp` reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from nbtool.tools.mcp.connection.answer_repair import repair_answer

if TYPE_CHECKING:
    from mcp.client import Transport

MAX_OPEN = 10_000
"""Maximum number of requests that are remembered until they are answered."""


@asynccontextmanager
async def repairing(transport: Transport) -> AsyncIterator[tuple[Any, Any]]:
    """Open a transport, and give its streams: what is read from it is repaired."""
    async with transport as (read, write):
        methods: dict[str, str] = {}
        yield _Reader(read, methods), _Writer(write, methods)


class _Stream:
    """A stream of the transport; `methods` has the methods of the open requests by their ids."""

    def __init__(self, inner: Any, methods: dict[str, str]) -> None:
        self._inner = inner
        self._methods = methods

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> Any:
        return await self._inner.__aexit__(*failure)


class _Writer(_Stream):
    async def send(self, item: SessionMessage) -> None:
        if isinstance(request := item.message, JSONRPCRequest):
            if len(self._methods) >= MAX_OPEN:
                del self._methods[next(iter(self._methods))]
            self._methods[str(request.id)] = request.method
        await self._inner.send(item)


class _Reader(_Stream):
    @property
    def last_context(self) -> Any:
        """The context of the request that the last message belongs to, as the package asks for it."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._repair(await self._inner.__anext__())

    def _repair(self, item: Any) -> Any:
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return item
        method = self._methods.pop(str(message.id), "")
        if isinstance(message, JSONRPCResponse):
            item.message = message.model_copy(update={"result": repair_answer(method, message.result)})
        return item
