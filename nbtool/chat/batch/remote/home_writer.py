"""On a worker: the events of one turn on their way home, where they are written to the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from nbtool.chat.batch.remote.home_link import NO_HOME, HomeCheck, HomeLink
from nbtool.chat.batch.remote.worker_message import YES, MessageKind, pack_events
from nbtool.clock import monotonic
from nbtool.errors import NbtoolError
from nbtool.events import CallFinished, CallReady, CallStarted, Event, ReplyFinished, TextDelta, ThinkingDelta
from nbtool.tools.calls.call_ended import CallEnded

GATHER_SECONDS = 1.0
"""Seconds that events of a running turn are gathered, if none of them is known at home at once."""

OnEnd = Callable[[BaseException | None], object]


class HomeWriter:
    """Takes the place of a turn's writer to the journal: no call starts before home has written that it does.

    Nor does the model learn of a result that home has not. Other events are gathered, and sent with these, or with the
    answer. Calls of the `free_tools` only
    read, and start without asking.
    """

    def __init__(self, link: HomeLink, check: HomeCheck, key: str, turn_id: str, free_tools: Collection[str]) -> None:
        self._link, self._check = link, check
        self._key, self.turn_id, self._free_tools = key, turn_id, free_tools
        self._names: dict[str, str] = {}
        self._gathered: list[Event] = []
        self._since = monotonic()

    def buffer(self, delta: TextDelta | ThinkingDelta) -> bool:
        """Gather a piece of a reply, which is sent if the reply breaks off."""
        self._gathered.append(delta)
        return False

    async def write(self, *events: Event) -> None:
        """Gather events."""
        self._gather(events)

    def begin_write(self, events: Sequence[Event], on_end: OnEnd) -> None:
        """Gather events, and send them if home should know; `on_end` waits for home where a call begins or ends."""
        self._gather(events)
        try:
            if any(isinstance(event, CallStarted) and self._has_to_ask(event) for event in events):
                self._ask("may_start", on_end)
                return
            if any(isinstance(event, CallFinished) and event.name not in self._free_tools for event in events):
                self._ask("event", on_end)
                return
            if monotonic() - self._since > GATHER_SECONDS:
                self._link.tell("event", key=self._key, turn_id=self.turn_id, events=self.take())
        except NbtoolError as error:  # they are too large
            on_end(error)
            return
        on_end(None)

    def take(self) -> list[dict[str, Any]]:
        """Return what was gathered and not sent."""
        gathered, self._gathered, self._since = self._gathered, [], monotonic()
        return pack_events(gathered)

    def _gather(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ReplyFinished):  # it has the text of its deltas
                self._gathered = [item for item in self._gathered if not isinstance(item, TextDelta | ThinkingDelta)]
            elif isinstance(event, CallReady):
                self._names[event.call_id] = event.name
            self._gathered.append(event)

    def _has_to_ask(self, event: CallStarted) -> bool:
        """Whether home has to know of a call before it starts; an announced one it knows already."""
        return not event.announced and self._names.get(event.call_id) not in self._free_tools

    def _ask(self, kind: MessageKind, on_end: OnEnd) -> None:
        loop = asyncio.get_running_loop()

        def end(answer: Future[str]) -> None:
            is_allowed = answer.exception() is None and answer.result() == YES
            self._check.is_refused = self._check.is_refused or not is_allowed
            refused = (
                CallEnded("not_run", NO_HOME) if kind == "may_start" else None
            )  # the turn ends with its next request
            with suppress(RuntimeError):  # the loop is closed: nothing waits
                loop.call_soon_threadsafe(on_end, None if is_allowed else refused)

        events = self.take()
        self._link.ask(kind, key=self._key, turn_id=self.turn_id, events=events).add_done_callback(end)
