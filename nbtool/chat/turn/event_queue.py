"""A queue of events from nbtool's background thread to a waiting event loop."""

from __future__ import annotations

import asyncio
import collections
from contextlib import suppress

from nbtool.events import (
    CallDelta,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    ReplyEnd,
    ReplyFinished,
    RequestStarted,
    UsageDelta,
)

COALESCE_SECONDS = 0.004
"""Seconds that a low-priority event waits for further ones before it wakes the reader."""

_LOW_PRIORITY = frozenset(
    {
        CallDelta,
        CallFinished,
        CallReady,
        CallStarted,
        MessageAppended,
        ReplyEnd,
        ReplyFinished,
        RequestStarted,
        UsageDelta,
    }
)


class EventQueue:
    """A queue between nbtool's thread and a waiting loop; wakes the reader only when it is idle.

    The reader is woken at the end of an iteration of nbtool's loop, because waking it for every delta costs more than
    the delta: the deltas of one socket read arrive together. Events that neither show text nor need an answer wait for
    further ones, too briefly to be visible.
    """

    def __init__(self) -> None:
        self._events: collections.deque[Event] = collections.deque()
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._is_asleep = False
        self._timer: asyncio.TimerHandle | None = None

    def put(self, event: Event) -> None:
        """Add an event; on nbtool's background thread."""
        self._events.append(event)
        if self._is_asleep and type(event) not in _LOW_PRIORITY:
            self._is_asleep = False
            asyncio.get_running_loop().call_soon(self._notify)
        elif self._is_asleep and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE_SECONDS, self._notify)

    def _notify(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._is_asleep = False  # set before the reader is woken: afterwards only the reader sets it
        with suppress(RuntimeError):  # the reader's loop is closed: nothing waits
            self._loop.call_soon_threadsafe(self._more.set)

    async def get(self) -> Event:
        """Wait for the next event; on the loop of the reader."""
        while not self._events:
            self._more.clear()
            self._is_asleep = True
            if not self._events:
                await self._more.wait()
        return self._events.popleft()
