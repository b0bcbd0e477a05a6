"""A body, read ahead by a task of its own: what one read of the socket brought is decoded in one go.

Servers send every event as an HTTP chunk, and an HTTP library gives every chunk on its own. A timer, a decoder and
three generators for each of them cost more than the event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

MAX_BUFFERED_BYTES = 1024 * 1024
"""Bytes that are read before somebody takes them; then the server has to wait."""


class ReadAhead:
    """Reads a body from the moment it is made; `aclose` it, whatever happens."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer: list[bytes] = []
        self._size = 0
        self._has_data, self._has_room = asyncio.Event(), asyncio.Event()
        self._reader_task = asyncio.ensure_future(self._fill())

    async def read(self) -> bytes:
        """Give all that has come, or, at the end of the body, nothing. Raises: what reading raised, after the rest."""
        while not self._buffer and not self._reader_task.done():
            self._has_data.clear()
            await self._has_data.wait()
        if not self._buffer:
            await self._reader_task
        data, self._buffer, self._size = b"".join(self._buffer), [], 0
        self._has_room.set()
        return data

    async def drain(self, seconds: float) -> None:
        """Read to the end of the body where it is at hand: a connection that was read to its end is used again."""
        if not self._reader_task.done():
            await asyncio.wait({self._reader_task}, timeout=seconds)

    async def aclose(self) -> None:
        """Stop reading, and wait until it has stopped."""
        if not self._reader_task.done():
            self._reader_task.cancel()
            await asyncio.wait({self._reader_task})
        if not self._reader_task.cancelled():
            self._reader_task.exception()  # whoever wanted to know has taken it

    async def _fill(self) -> None:
        try:
            async for chunk in self._chunks:
                self._buffer.append(chunk)
                self._size += len(chunk)
                self._has_data.set()
                if self._size > MAX_BUFFERED_BYTES:
                    self._has_room.clear()
                    await self._has_room.wait()
        finally:
            self._has_data.set()
