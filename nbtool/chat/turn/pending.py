"""The open approval questions of a turn, and whether a call still uses the calling thread."""

from __future__ import annotations

import asyncio
from typing import Literal

from nbtool.events import CallAsked, CallDecided, CallFinished, CallStarted, Event, TurnParked


class PendingQuestions:
    """Track the events of one turn, on nbtool's loop. `is_parked`: the turn runs on after its cell has ended."""

    def __init__(self) -> None:
        self.is_parked = False
        self._questions: dict[str, str] = {}
        self._on_thread: set[str] = set()
        self._change = asyncio.Event()

    @property
    def status(self) -> Literal["running", "waiting", "parked"]:
        """Whether the turn waits for a decision, and whether a cell waits for the turn."""
        if not self._questions:
            return "running"
        return "parked" if self.is_parked else "waiting"

    @property
    def is_idle(self) -> bool:
        """Whether a parked turn only waits for decisions."""
        return self.is_parked and bool(self._questions) and not self._on_thread

    @property
    def questions(self) -> tuple[str, ...]:
        """The digests of the open questions, oldest first."""
        return tuple(self._questions)

    def record(self, event: Event) -> None:
        """Update the state from an event."""
        match event:
            case CallAsked():
                self._questions[event.digest] = event.call_id
                self._on_thread.discard(event.call_id)  # its tool has not started, or has ended
            case CallDecided():
                self._questions.pop(event.digest, None)
            case CallStarted(thread="main"):
                self._on_thread.add(event.call_id)
            case CallFinished():
                self._on_thread.discard(event.call_id)
                self._questions = {key: call for key, call in self._questions.items() if call != event.call_id}
            case TurnParked():
                self.is_parked = True
            case _:
                return
        self._change.set()

    async def wait_thread_free(self) -> None:
        """Wait until no call runs on the calling thread."""
        while self._on_thread:
            self._change.clear()
            await self._change.wait()
