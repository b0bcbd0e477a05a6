"""Events on their way from nbtool's own thread to a loop that waits for them."""

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
    ReplyFinished,
    RequestStarted,
)

COALESCE_SECONDS = 0.004
"""Seconds that an event which nobody has to answer or read at once waits for more, before it wakes a reader."""

_LOW_PRIORITY = frozenset(
    {CallDelta, CallFinished, CallReady, CallStarted, MessageAppended, ReplyFinished, RequestStarted}
)


class EventQueue:
    """A mailbox between nbtool's thread and a waiting loop; wakes the reader only when it sleeps.

    The waking is the last thing that a pass of nbtool's loop does: two threads that wake each other for every delta
    cost more than the delta, and what one read of the socket brought arrives together. What neither shows text nor
    asks for an answer waits for more, but not long enough for a person to see.
    """

    def __init__(self) -> None:
        self._events: collections.deque[Event] = collections.deque()
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._is_asleep = False
        self._timer: asyncio.TimerHandle | None = None

    def put(self, event: Event) -> None:
        """Take an event; on nbtool's own thread."""
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
        self._is_asleep = False  # before the reader is woken: then only it may fall asleep again
        with suppress(RuntimeError):  # the reader's loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._more.set)

    async def get(self) -> Event:
        """Give the next event, when there is one; on the loop of the reader."""
        while not self._events:
            self._more.clear()
            self._is_asleep = True
            if not self._events:
                await self._more.wait()
        return self._events.popleft()
