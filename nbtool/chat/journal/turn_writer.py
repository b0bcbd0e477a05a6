"""One turn's pen: it gathers prose, and keeps out of the journal what a person may yet withhold."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from nbtool.chat.journal.process_journal import Journal
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Event,
    TextDelta,
    ThinkingDelta,
)

FLUSH_SECONDS = 1.0
"""How long prose, and what running calls print, is gathered before it is written."""

MAX_WITHHELD_CHUNKS = 10_000
"""Pieces that one guarded call prints and that are held back until its result is released; more are not kept."""

_Prose = TextDelta | ThinkingDelta


class TurnWriter:
    """Writes one turn into a journal: joins deltas, and lets nothing else pass before it is written.

    A result is written when it is released: not the question about it, and nothing that its call printed before. With
    `hide`, private values are taken out of every text; then prose is written in its whole reply alone, and what a call
    prints with its outcome, so that no value is cut in two and overlooked.
    """

    def __init__(
        self, journal: Journal, chat_id: str, turn_id: str, *, hide: Callable[[str], str] | None = None
    ) -> None:
        self._journal = journal
        self._ids = (chat_id, turn_id)
        self._hide = hide
        self._pending: list[Event] = []
        self._pieces: list[str] = []
        self._since = 0.0
        self._withheld: dict[str, list[CallProgress]] = {}
        self._withdrawn: set[str] = set()

    def buffer(self, delta: _Prose) -> bool:
        """Take a piece of prose; says whether it is time to write what has gathered."""
        if self._hide:
            return False
        if not self._pending or type(self._pending[-1]) is not type(delta):
            self._flush_text()
            self._pending.append(type(delta)(""))
        self._pieces.append(delta.text)
        return self._is_due()

    async def write(self, *events: Event) -> None:
        """Write what has gathered, then these events; what a call prints may be gathered for a while too."""
        self._flush_text()
        for event in events:
            self._withhold(event)
        if events and all(isinstance(event, CallProgress) for event in events) and not self._is_due():
            return
        gathered, self._pending, self._since = self._pending, [], 0.0
        if gathered:
            await self._journal.write(*self._ids, gathered, hide=self._hide)

    def _withhold(self, event: Event) -> None:
        match event:
            case CallStarted() if event.guarded or self._hide:
                self._withheld[event.call_id] = []
            case CallProgress() if event.call_id in self._withheld:
                if len(self._withheld[event.call_id]) < MAX_WITHHELD_CHUNKS:
                    self._withheld[event.call_id].append(event)
                return
            case CallAsked(gate="result"):
                event = replace(event, shown="", media=())  # a result that may yet be withheld or edited
            case CallReady() | CallAsked() if event.glances:
                event = replace(event, glances={})  # values of the notebook, for the person's eyes alone
            case CallDecided(gate="result") if event.verdict == "withheld" or event.edited:
                self._withdrawn.add(event.call_id)
            case CallFinished():
                self._release(event)
                event = replace(event, media=())  # for the person's eyes alone; what the model saw stands in messages
            case _:
                pass
        self._pending.append(event)

    def _release(self, event: CallFinished) -> None:
        """Write what a call printed, now that its result is told; nothing where it was withheld, edited or lost."""
        printed = self._withheld.pop(event.call_id, [])
        if event.status in ("ok", "error") and event.call_id not in self._withdrawn:
            self._pending += _join_progress(printed)

    def _flush_text(self) -> None:
        if self._pieces and isinstance(last := self._pending[-1], _Prose):
            last.text += "".join(self._pieces)
        self._pieces = []

    def _is_due(self) -> bool:
        now = time.monotonic()
        self._since = self._since or now
        return now - self._since > FLUSH_SECONDS


def _join_progress(printed: list[CallProgress]) -> list[CallProgress]:
    """Put what a call printed into one piece, with how far it came last."""
    if not printed:
        return []
    fractions = [piece.fraction for piece in printed if piece.fraction is not None]
    text = "".join(piece.text for piece in printed)
    return [CallProgress(printed[0].call_id, text, fractions[-1] if fractions else None)]
