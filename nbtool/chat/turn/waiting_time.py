"""How long a turn waited for decisions, and when the thread that called is free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nbtool.clock import monotonic
from nbtool.events import Event
from nbtool.turn_state import TurnState


class WaitingTime:
    """The time in which a turn waited; its events pass here on their way to its state, on nbtool's loop."""

    def __init__(self, state: TurnState, clock: Callable[[], float] = monotonic) -> None:
        self._state = state
        self._clock, self._waited, self._unshown, self._since = clock, 0.0, 0.0, clock()
        self._preparing = 0
        self._change = asyncio.Event()

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

    def apply(self, event: Event) -> None:
        """Change the state of the turn by an event."""
        had_questions = bool(self._state.questions)  # without one, nothing waits
        if had_questions:
            self._count()
        self._state.apply(event)
        if self._state.questions and not had_questions:
            self._since = self._clock()
        self._change.set()

    async def wait_thread_free(self) -> None:
        """Wait until no call runs on the calling thread."""
        while not self._state.is_thread_free:
            self._change.clear()
            await self._change.wait()

    def _seconds_waiting(self) -> float:
        return self._clock() - self._since if self._state.is_waiting else 0.0

    def _count(self) -> None:
        now = self._clock()
        if self._state.is_waiting:
            if self._preparing:
                self._unshown += now - self._since
            else:
                self._waited += now - self._since
        self._since = now
