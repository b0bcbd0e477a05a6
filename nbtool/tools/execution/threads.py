"""Run synchronous tools on the caller's thread or in worker threads, and stop them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol

from nbtool.errors import Cancelled
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.thread_pool import Outcome, capture, run_in_worker

STOP_GRACE_SECONDS = 0.6
"""Seconds that a stopped tool has to end; so that its cell ends within a second, on a busy machine too."""

INTERRUPT_SECONDS = 0.4
"""Seconds in which an interrupt sent by nbtool arrives; less than `STOP_GRACE_SECONDS`, so that waiting for it is not a
failure to stop.
"""

StopResult = Literal["idle", "interrupted", "out_of_reach", "uncertain"]
"""The state of a runner when it is stopped: nothing runs; the running work was interrupted; it cannot be stopped; it
was cancelled, and may or may not have started.
"""


class Runner(Protocol):
    """Runs synchronous work.

    `has_started` is set once some of it may have started; `has_refused` if it was submitted after this was stopped.
    `on_start` is called when some of it starts, on its thread.
    """

    name: str
    on_start: Callable[[], object]
    has_started: bool
    has_refused: bool

    @property
    def is_free(self) -> bool:
        """Whether work would start at once."""

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Run some work."""

    def stop(self) -> StopResult:
        """Refuse new work, interrupt the running work, and return what was found."""


class CallerThreadRunner:
    """The caller's thread. An interrupt sent by nbtool is raised in the work itself and does not propagate."""

    name = "main"

    def __init__(self, caller_thread: CallerThread) -> None:
        self._caller_thread = caller_thread
        self.on_start: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self.has_started = False
        self.has_refused = False
        self._is_running = False
        self._is_closed = False
        self._is_interrupting = False

    @property
    def is_free(self) -> bool:
        """Whether the thread has no other work."""
        return self._caller_thread.is_free

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Run some work on the caller's thread."""
        try:
            return await self._caller_thread.run(partial(self._run_guarded, work))
        except Cancelled as interrupt:
            return Outcome(error=interrupt, is_interrupt=True)

    def stop(self) -> StopResult:
        """Interrupt the running work."""
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
            self.has_started = self.has_started or self._is_running
            self.has_refused = self._is_closed
        if self._is_running:
            self.on_start()
        return self._is_running

    def _leave(self) -> None:
        with self._lock:
            self._is_running = False
        if self._is_interrupting:
            time.sleep(
                INTERRUPT_SECONDS
            )  # nbtool's interrupt is pending; it must be raised here and not in the user's own code


class WorkerThreadRunner:
    """One daemon thread per running work: a thread that hangs blocks neither other work nor the exit."""

    name = "worker"
    is_free = True

    def __init__(self) -> None:
        self.has_started = False
        self.has_refused = False
        self.on_start: Callable[[], object] = lambda: None
        self._running = 0
        self._is_closed = False

    async def run(self, work: Callable[[], Any]) -> Outcome:
        """Run some work in a thread reserved for it."""
        if self._is_closed:
            self.has_refused = True
            return Outcome(error=KeyboardInterrupt())
        self._running += 1
        self.has_started = True
        self.on_start()
        return await run_in_worker(work, on_done=self._leave)

    def stop(self) -> StopResult:
        """Refuse new work, and return whether any runs: a thread cannot be stopped."""
        self._is_closed = True
        return "out_of_reach" if self._running else "idle"

    def _leave(self) -> None:
        self._running -= 1
