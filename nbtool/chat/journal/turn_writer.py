"""The journal writer of one turn: buffers text deltas, and delays output that the user may still withhold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nbtool.audience import Hide
from nbtool.chat.journal.process_journal import Journal
from nbtool.chat.journal.redaction import with_secrets_hidden
from nbtool.clock import monotonic
from nbtool.event_filter import EventFilter, is_withdrawal
from nbtool.events import (
    CallDecided,
    CallFinished,
    CallProgress,
    CallStarted,
    Event,
    ReplyFinished,
    TextDelta,
    ThinkingDelta,
)

FLUSH_SECONDS = 1.0
"""Seconds that text deltas and the output of running calls are buffered before they are written."""

MAX_WITHHELD_CHUNKS = 10_000
"""Maximum output chunks of one guarded call that are held until its result is released; further ones are dropped."""

_Prose = TextDelta | ThinkingDelta


class TurnWriter:
    """Write the events of one turn to a journal; text deltas are joined, other events are written at once.

    A result is written when it is released; its approval question and the output of its call are not written before.
    What only the person sees is not written, nor are known secrets. With `hide`, private values are redacted too; then
    text is written with the complete reply only, and the output of a call with its outcome, so that no value is split
    and missed.
    """

    def __init__(
        self,
        journal: Journal,
        chat_id: str,
        turn_id: str,
        *,
        hide: Hide | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._journal = journal
        self._ids = (chat_id, turn_id)
        self._hide = hide
        self._clock = clock
        self._pending: list[Event] = []
        self._pieces: list[str] = []
        self._since = 0.0
        self._filter = EventFilter("journal")
        self._withheld: dict[str, list[CallProgress]] = {}
        self._guarded: set[str] = set()
        self._withdrawn: set[str] = set()

    def buffer(self, delta: _Prose) -> bool:
        """Buffer a text delta; return whether the buffer is due to be written."""
        if self._hide:
            return False
        has_phase = isinstance(delta, TextDelta) and bool(delta.phase)
        if not self._pending or type(self._pending[-1]) is not type(delta) or has_phase:
            self._flush_text()
            self._pending.append(replace(delta, text=""))
        self._pieces.append(delta.text)
        return self._is_due()

    async def write(self, *events: Event) -> None:
        """Write the buffer, then these events; the output of calls may be buffered, too."""
        if gathered := self._gather(events):
            await self._journal.write(*self._ids, gathered)

    def begin_write(self, events: Sequence[Event], on_end: Callable[[BaseException | None], object]) -> None:
        """Start what `write` awaits; `on_end` is called once it has ended, perhaps before this returns."""
        if gathered := self._gather(events):
            self._journal.begin_write(*self._ids, gathered, on_end)
        else:
            on_end(None)

    def _gather(self, events: Sequence[Event]) -> list[Event]:
        """Return what has to be written now: the buffer, then these events."""
        self._flush_text()
        for event in events:
            if isinstance(event, ReplyFinished):  # it has the text of its deltas that are not written yet
                self._pending = [item for item in self._pending if not isinstance(item, _Prose)]
            self._withhold(event)
        if events and all(isinstance(event, CallProgress) for event in events) and not self._is_due():
            return []
        gathered, self._pending, self._since = self._pending, [], 0.0
        self._filter.hide = with_secrets_hidden(self._hide)
        return [shown for event in gathered if (shown := self._filter.feed(event)) is not None]

    def _withhold(self, event: Event) -> None:
        match event:
            case CallStarted() if event.guarded or self._hide:
                self._withheld[event.call_id] = []
                self._guarded |= {event.call_id} if event.guarded else set()
            case CallProgress() if event.call_id in self._withheld:
                if len(self._withheld[event.call_id]) < MAX_WITHHELD_CHUNKS:
                    self._withheld[event.call_id].append(event)
                return
            case CallFinished():
                self._release(event)
            case CallDecided() if is_withdrawal(event):
                self._withdrawn.add(event.call_id)
            case _:
                pass
        self._pending.append(event)

    def _release(self, event: CallFinished) -> None:
        """Write the output of a call, now that its result is released; nothing if it was withheld, edited or lost."""
        printed = self._withheld.pop(event.call_id, [])
        is_hidden = event.call_id in self._withdrawn or (event.is_described and event.call_id in self._guarded)
        if event.status in ("ok", "error") and not is_hidden:
            self._filter.release(event.call_id)
            self._pending += _join_progress(printed)

    def _flush_text(self) -> None:
        if self._pieces and isinstance(last := self._pending[-1], _Prose):
            last.text += "".join(self._pieces)
        self._pieces = []

    def _is_due(self) -> bool:
        now = self._clock()
        self._since = self._since or now
        return now - self._since > FLUSH_SECONDS


def _join_progress(printed: list[CallProgress]) -> list[CallProgress]:
    """Join the output of a call into one event, with its last progress."""
    if not printed:
        return []
    fractions = [piece.fraction for piece in printed if piece.fraction is not None]
    text = "".join(piece.text for piece in printed)
    return [CallProgress(printed[0].call_id, text, fractions[-1] if fractions else None)]
