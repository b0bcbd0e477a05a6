"""Read a body ahead in a task, so that all chunks of one socket read are decoded together.

Servers send every event as an HTTP chunk, and HTTP libraries yield every chunk separately. A decoder run and three
generators per chunk cost more than the event itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from nbtool.wire.transport.retry import Deadline

MAX_BUFFERED_BYTES = 1024 * 1024
"""Size of the buffer in bytes; reading pauses while it is full."""


class ReadAhead:
    """Reads a body in the background from its creation; it must be closed with `aclose`.

    The time limit of a read has one timer a reply, which is moved only when it fires too early.
    """

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer: list[bytes] = []
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self._expires = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._has_data, self._has_room = asyncio.Event(), asyncio.Event()
        self._reader_task = asyncio.ensure_future(self._fill())

    async def read(self, deadline: Deadline) -> bytes:
        """Return the buffered bytes, b"" at the end of the body; a read error is raised after the last bytes.

        Raises:
            TimeoutError: nothing came before the deadline.
        """
        if not self._buffer and not self._reader_task.done():
            await self._wait(deadline)
        if not self._buffer:
            if not self._reader_task.done():
                raise TimeoutError
            await self._reader_task
        data = self._buffer[0] if len(self._buffer) == 1 else b"".join(self._buffer)
        self._buffer, self._size = [], 0
        self._has_room.set()
        return data

    async def drain(self, seconds: float) -> None:
        """Read to the end of the body if it arrives within `seconds`, so that the connection can be reused."""
        if not self._reader_task.done():
            await asyncio.wait({self._reader_task}, timeout=seconds)

    async def aclose(self) -> None:
        """Stop reading, and wait until it has stopped."""
        if self._timer:
            self._timer.cancel()
        if not self._reader_task.done():
            self._reader_task.cancel()
            await asyncio.wait({self._reader_task})
        if not self._reader_task.cancelled():
            self._reader_task.exception()  # retrieved, so that asyncio does not log it

    async def _wait(self, deadline: Deadline) -> None:
        """Wait for data, the end of the body, or the end of the time."""
        self._expires = self._loop.time() + deadline.remaining
        if self._timer is None or self._timer.when() > self._expires:
            self._start_timer()
        self._has_data.clear()
        await self._has_data.wait()
        deadline.remaining = self._expires - self._loop.time()

    def _start_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._expires, self._end_wait)

    def _end_wait(self) -> None:
        """End the wait if its time is over; else wait for the rest of it."""
        self._timer = None
        if self._loop.time() < self._expires:
            self._start_timer()
        else:
            self._has_data.set()

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
