"""The one door by which the events of a turn go: to the journal first, and then to whoever listens.

Before anything leaves or runs, all that was said until then is on disk. Every wait for the disk is a change of thread,
there and back; so an event that nothing is done because of is held back for the next one, and written together with it:
a reply with the beginning of its first call, an outcome with the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nbtool.chat.journal import TurnWriter
from nbtool.events import (
    DELTAS,
    CallDelta,
    CallFinished,
    CallReady,
    Event,
    MessageAppended,
    ReplyFinished,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
)

MAX_DEFER_SECONDS = 0.02
"""How long an event is held back at most: then it is written alone."""

DEFERRABLE = frozenset({MessageAppended, CallReady})
"""What these say is told once more, or something else is told before anything is done."""

DEFERRABLE_WITHOUT_PLUGINS = DEFERRABLE | {ReplyFinished, CallFinished}
"""Only a plugin of a person's own does something because of these before the next event is told."""


class EventSink:
    """The door of one turn; `emit` is called on nbtool's own loop, `tell` once an event is on disk.

    `TurnEnded` closes it: what emits later is stopped as if it were cancelled, since it may not act any more.
    `is_ours` says that no plugin is there but nbtool's own, so that more can be held back.
    """

    def __init__(self, writer: TurnWriter, dispatch: Callable[[Event], None], *, only_builtin_plugins: bool) -> None:
        self._writer = writer
        self._dispatch = dispatch
        self._deferrable = DEFERRABLE_WITHOUT_PLUGINS if only_builtin_plugins else DEFERRABLE
        self._deferred: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def emit(self, event: Event) -> None:
        """Take an event; returns when it is on disk, or waits for the next one while nothing is done because of it.

        Raises:
            asyncio.CancelledError: the turn has ended.
        """
        kind = type(event)
        if self._is_closed:
            raise asyncio.CancelledError("The turn has ended.")
        self._is_closed = kind is TurnEnded
        if kind is CallDelta and not self._deferred:
            self._dispatch(event)  # most of what a model writes are prose and these
        elif kind in DELTAS:
            await self._emit_delta(event)
        elif kind in self._deferrable:
            self._defer(event)
        else:
            await self._flush(event)

    async def _emit_delta(self, delta: Event) -> None:
        """Take a delta: it is written now and then, and told at once."""
        if self._deferred:
            await self._flush()
        if isinstance(delta, TextDelta | ThinkingDelta) and self._writer.buffer(delta):
            await self._writer.write()
        self._dispatch(delta)

    def _defer(self, event: Event) -> None:
        self._deferred.append(event)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MAX_DEFER_SECONDS, self._flush)

    def _flush(self, *events: Event) -> asyncio.Future[None]:
        """Begin to write what was held back and these events, in the order in which they came.

        Whoever is cancelled while they wait for the future takes no event of others along.
        """
        if self._timer:
            self._timer.cancel()
            self._timer = None
        batch, self._deferred = [*self._deferred, *events], []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        writing = asyncio.ensure_future(self._write(batch, done))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return done

    async def _write(self, events: list[Event], done: asyncio.Future[None]) -> None:
        try:
            await self._writer.write(*events)
            for event in events:
                self._dispatch(event)
        except Exception as error:
            if done.cancelled():
                raise
            done.set_exception(error)  # it is the emitter's
        else:
            if not done.cancelled():
                done.set_result(None)
