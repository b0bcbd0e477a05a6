"""The places where synchronous tools run: the lent thread, and threads of their own; and how each is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

from nbtool.errors import Cancelled
from nbtool.loop import CallerThread
from nbtool.thread_pool import Outcome, capture, run_in_worker

STOP_GRACE_SECONDS = 0.8
"""Seconds that a stopped tool is given to end."""

INTERRUPT_SECONDS = 0.4
"""Seconds in which an interrupt of ours arrives; less than `STOP_GRACE_SECONDS`, so that waiting for it is no failure
to end."""

StopResult = Literal["idle", "interrupted", "out_of_reach", "uncertain"]
"""What a place says when it is told to stop: nothing runs there; what ran was interrupted; it cannot be stopped; it was
cancelled, and nobody knows whether it had begun."""


class Runner(Protocol):
    """A thread where synchronous work is done; `has_refused` work that came after it was told to stop."""

    name: str
    has_refused: bool

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Do some work there."""

    def stop(self) -> StopResult:
        """Let nothing more begin, interrupt what runs, and say what was found."""


class CallerThreadRunner:
    """The lent thread. An interrupt that we send is met in the work itself and goes no further."""

    name = "main"

    def __init__(self, caller_thread: CallerThread, on_start: Callable[[], None]) -> None:
        self._caller_thread = caller_thread
        self._on_start = on_start
        self._lock = threading.Lock()
        self.has_refused = False
        self._is_running = False
        self._is_closed = False
        self._is_interrupting = False

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Do some work on the lent thread."""
        try:
            return await self._caller_thread.run(lambda: self._run_guarded(work))
        except Cancelled as interrupt:
            return Outcome(error=interrupt, is_interrupt=True)

    def stop(self) -> StopResult:
        """Interrupt the work that runs."""
        with self._lock:
            self._is_closed = True
            if not self._is_running:
                return "idle"
            self._is_interrupting = True
            if self._caller_thread.interrupt():
                return "interrupted"
            self._is_interrupting = False
            return "out_of_reach"

    def _run_guarded(self, work: Callable[[], Any]) -> Outcome:
        try:
            if not self._enter():
                return Outcome(error=KeyboardInterrupt())
            outcome = capture(work)
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
            self._on_start()
        return self._is_running

    def _leave(self) -> None:
        with self._lock:
            self._is_running = False
        if self._is_interrupting:
            time.sleep(
                INTERRUPT_SECONDS
            )  # our interrupt is on its way; it must arrive here and not in the person's own code


class WorkerThreadRunner:
    """A daemon thread for each piece of work at a time: one that hangs holds up neither others nor the exit."""

    name = "worker"

    def __init__(self, on_start: Callable[[], None]) -> None:
        self.has_refused = False
        self._on_start = on_start
        self._running = 0
        self._is_closed = False

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Do some work in a thread that does nothing else meanwhile."""
        if self._is_closed:
            self.has_refused = True
            return Outcome(error=KeyboardInterrupt())
        self._running += 1
        self._on_start()
        return await run_in_worker(work, on_done=self._leave)

    def stop(self) -> StopResult:
        """Let no more work begin, and say whether any runs: a thread cannot be stopped."""
        self._is_closed = True
        return "out_of_reach" if self._running else "idle"

    def _leave(self) -> None:
        self._running -= 1
