"""A body, read ahead by a task of its own: what one read of the socket brought is decoded in one go.

Servers send every event as an HTTP chunk, and an HTTP library gives every chunk on its own. A timer, a decoder and
three generators for each of them cost more than the event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

MAX_AHEAD = 1024 * 1024
"""Bytes that are read before somebody takes them; then the server has to wait."""


class Ahead:
    """Reads a body from the moment it is made; `aclose` it, whatever happens."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._came: list[bytes] = []
        self._size = 0
        self._more, self._room = asyncio.Event(), asyncio.Event()
        self._reading = asyncio.ensure_future(self._read())

    async def take(self) -> bytes:
        """Give all that has come, or, at the end of the body, nothing. Raises: what reading raised, after the rest."""
        while not self._came and not self._reading.done():
            self._more.clear()
            await self._more.wait()
        if not self._came:
            await self._reading
        came, self._came, self._size = b"".join(self._came), [], 0
        self._room.set()
        return came

    async def drain(self, seconds: float) -> None:
        """Read to the end of the body where it is at hand: a connection that was read to its end is used again."""
        if not self._reading.done():
            await asyncio.wait({self._reading}, timeout=seconds)

    async def aclose(self) -> None:
        """Stop reading, and wait until it has stopped."""
        if not self._reading.done():
            self._reading.cancel()
            await asyncio.wait({self._reading})
        if not self._reading.cancelled():
            self._reading.exception()  # whoever wanted to know has taken it

    async def _read(self) -> None:
        try:
            async for piece in self._pieces:
                self._came.append(piece)
                self._size += len(piece)
                self._more.set()
                if self._size > MAX_AHEAD:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._more.set()
