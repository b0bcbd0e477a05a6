"""The places where synchronous tools run: the lent thread, and threads of their own; and how each is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

from nbtool.errors import Cancelled
from nbtool.loop import LentThread
from nbtool.thread_pool import Outcome, contained, in_worker

GRACE = 0.8
"""Seconds that a stopped tool is given to end."""

ARRIVAL = 0.4
"""Seconds in which an interrupt of ours arrives; less than `GRACE`, so that waiting for it is no failure to end."""

Stopping = Literal["idle", "interrupted", "out_of_reach", "uncertain"]
"""What a place says when it is told to stop: nothing runs there; what ran was interrupted; it cannot be stopped; it was
cancelled, and nobody knows whether it had begun."""


class Place(Protocol):
    """A thread where synchronous work is done; `has_refused` work that came after it was told to stop."""

    name: str
    has_refused: bool

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work there."""

    def stop(self) -> Stopping:
        """Let nothing more begin, interrupt what runs, and say what was found."""


class OnLent:
    """The lent thread. An interrupt that we send is met in the work itself and goes no further."""

    name = "main"

    def __init__(self, lent: LentThread, begun: Callable[[], None]) -> None:
        self._lent = lent
        self._begun = begun
        self._lock = threading.Lock()
        self.has_refused = False
        self._is_running = False
        self._is_closed = False
        self._is_interrupting = False

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work on the lent thread."""
        try:
            return await self._lent.run(lambda: self._guarded(work))
        except Cancelled as interrupt:
            return Outcome(error=interrupt, by_person=True)

    def stop(self) -> Stopping:
        """Interrupt the work that runs."""
        with self._lock:
            self._is_closed = True
            if not self._is_running:
                return "idle"
            self._is_interrupting = True
            if self._lent.interrupt():
                return "interrupted"
            self._is_interrupting = False
            return "out_of_reach"

    def _guarded(self, work: Callable[[], Any]) -> Outcome:
        try:
            if not self._enter():
                return Outcome(error=KeyboardInterrupt())
            outcome = contained(work)
            self._leave()
        except KeyboardInterrupt as interrupt:
            self._is_running = False
            if not self._is_interrupting:
                raise
            return Outcome(error=interrupt)
        return outcome

    def _enter(self) -> bool:
        with self._lock:
            self._is_running = not self._is_closed
            self.has_refused = self._is_closed
        if self._is_running:
            self._begun()
        return self._is_running

    def _leave(self) -> None:
        with self._lock:
            self._is_running = False
        if self._is_interrupting:
            time.sleep(ARRIVAL)  # our interrupt is on its way; it must arrive here and not in the person's own code


class InWorker:
    """A daemon thread for each piece of work at a time: one that hangs holds up neither others nor the exit."""

    name = "worker"

    def __init__(self, begun: Callable[[], None]) -> None:
        self.has_refused = False
        self._begun = begun
        self._running = 0
        self._is_closed = False

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work in a thread that does nothing else meanwhile."""
        if self._is_closed:
            self.has_refused = True
            return Outcome(error=KeyboardInterrupt())
        self._running += 1
        self._begun()
        return await in_worker(work, done=self._leave)

    def stop(self) -> Stopping:
        """Let no more work begin, and say whether any runs: a thread cannot be stopped."""
        self._is_closed = True
        return "out_of_reach" if self._running else "idle"

    def _leave(self) -> None:
        self._running -= 1
