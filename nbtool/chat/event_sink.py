"""The single output of a turn's events: to the journal first, and then to the listeners.

All earlier events are written before a tool runs, and before the reply to a request is read. Every wait for a write
costs two thread switches; so an event that triggers no action is deferred and written together with the next one: a
reply with the start of its first call, an outcome with the next request, and a start that an earlier one has announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from nbtool.events import (
    DELTAS,
    CallDelta,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    ReplyFinished,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
)
from nbtool.tools.calls.call_ended import CallEnded

MAX_DEFER_SECONDS = 0.02
"""Longest time that an event is deferred; then it is written alone."""

DEFERRABLE = frozenset({MessageAppended, CallReady})
"""Events that trigger no action: another event always follows before one."""

DEFERRABLE_WITHOUT_PLUGINS = DEFERRABLE | {ReplyFinished, CallFinished}
"""With built-in plugins only, these trigger no action either before the next event is dispatched."""


class EventWriter(Protocol):
    """Keeps the events of one turn, in the journal or elsewhere."""

    def buffer(self, delta: TextDelta | ThinkingDelta) -> bool:
        """Buffer a text delta; return whether the buffer is due to be written."""

    async def write(self, *events: Event) -> None:
        """Write the buffer, then these events."""

    def begin_write(self, events: Sequence[Event], on_end: Callable[[BaseException | None], object]) -> None:
        """Start what `write` awaits; `on_end` is called once it has ended, perhaps before this returns.

        With `CallEnded` all is written but the start of a call, which is not allowed.
        """


class EventSink:
    """The event output of one turn; `emit` is called on nbtool's loop, `dispatch` once an event is on disk.

    `TurnEnded` closes it: a later emitter is cancelled, because nothing may act after the end of the turn.
    With `only_builtin_plugins` more events can be deferred.
    """

    def __init__(self, writer: EventWriter, dispatch: Callable[[Event], None], *, only_builtin_plugins: bool) -> None:
        self._writer = writer
        self._dispatch = dispatch
        self._deferrable = DEFERRABLE_WITHOUT_PLUGINS if only_builtin_plugins else DEFERRABLE
        self._deferred: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._done.set_result(None)

    def emit(self, event: Event) -> Awaitable[None]:
        """Emit an event; what is returned is done when it is on disk, or at once if it is deferred.

        Raises:
            asyncio.CancelledError: the turn has ended.
        """
        kind = type(event)
        if self._is_closed:
            raise asyncio.CancelledError("The turn has ended.")
        self._is_closed = kind is TurnEnded
        can_defer = kind in self._deferrable or (isinstance(event, CallStarted) and event.announced)
        if kind not in DELTAS and not can_defer:
            return self._flush(event)
        if kind is CallDelta and not self._deferred:
            self._dispatch(event)  # frequent, and not journalled
        elif kind in DELTAS:
            return self._emit_delta(event)
        else:
            self._deferred.append(event)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(MAX_DEFER_SECONDS, self._flush)
        return self._done

    async def _emit_delta(self, delta: Event) -> None:
        """Emit a delta: dispatched at once, and written to disk periodically."""
        if self._deferred:
            await self._flush()
        if isinstance(delta, TextDelta | ThinkingDelta) and self._writer.buffer(delta):
            await self._writer.write()
        self._dispatch(delta)

    def _flush(self, *events: Event) -> asyncio.Future[None]:
        """Start to write the deferred events and these, in order of arrival.

        No emitter awaits the write itself, so that cancelling one of them does not lose the events of others.
        """
        if self._timer:
            self._timer.cancel()
            self._timer = None
        batch, self._deferred = [*self._deferred, *events], []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        end = partial(self._end_write, batch, done)
        try:
            self._writer.begin_write(batch, end)
        except Exception as error:  # noqa: BLE001 - raised in the emitter
            end(error)
        return done

    def _end_write(self, batch: list[Event], done: asyncio.Future[None], error: BaseException | None) -> None:
        """Dispatch events that are on disk; all but the start of a call, if that is what was refused."""
        try:
            for event in batch:
                if error is None or (isinstance(error, CallEnded) and not isinstance(event, CallStarted)):
                    self._dispatch(event)
            if error:
                raise error
        except Exception as failure:
            if done.cancelled():
                raise
            done.set_exception(failure)  # raised in the emitter
        else:
            if not done.cancelled():
                done.set_result(None)
