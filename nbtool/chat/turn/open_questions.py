"""The open approval questions of a turn, how long it waited for them, and which calls still run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from nbtool.clock import monotonic
from nbtool.events import CallAsked, CallDecided, CallFinished, CallStarted, Event, TurnParked


class PendingQuestions:
    """Track the events of one turn, on nbtool's loop. `is_parked`: the turn runs on after its cell has ended."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.is_parked = False
        self._questions: dict[str, str] = {}
        self._on_thread: set[str] = set()
        self._running: set[str] = set()
        self._clock, self._waited, self._unshown, self._since = clock, 0.0, 0.0, clock()
        self._preparing = 0
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
    def waited(self) -> float:
        """Seconds in which the turn only waited for decisions: no call was running, and a question could be seen."""
        return self._waited + (0.0 if self._preparing else self._seconds_waiting())

    @property
    def unshown(self) -> float:
        """Seconds in which the turn only waited, and nobody could see a question: nobody's time."""
        return self._unshown + (self._seconds_waiting() if self._preparing else 0.0)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Count the waiting in this block as nobody's: the page that would show the questions is not there yet."""
        self._count()
        self._preparing += 1
        try:
            yield
        finally:
            self._count()
            self._preparing -= 1

    @property
    def is_waiting(self) -> bool:
        """Whether the turn only waits for decisions: no call is running."""
        return bool(self._questions) and not self._running

    @property
    def questions(self) -> tuple[str, ...]:
        """The digests of the open questions, oldest first."""
        return tuple(self._questions)

    def record(self, event: Event) -> None:
        """Update the state from an event."""
        self._count()
        match event:
            case CallAsked():
                self._questions[event.digest] = event.call_id
                self._on_thread.discard(event.call_id)  # its tool has not started, or has ended
                self._running.discard(event.call_id)
            case CallDecided():
                self._questions.pop(event.digest, None)
            case CallStarted():
                self._running.add(event.call_id)
                if event.thread == "main":
                    self._on_thread.add(event.call_id)
            case CallFinished():
                self._on_thread.discard(event.call_id)
                self._running.discard(event.call_id)
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

    def _seconds_waiting(self) -> float:
        return self._clock() - self._since if self.is_waiting else 0.0

    def _count(self) -> None:
        self._waited, self._unshown, self._since = self.waited, self.unshown, self._clock()
