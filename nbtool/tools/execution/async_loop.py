"""The event loops of the user's async tools and approvers, separate from nbtool's own.

While code on a loop awaits the turn, they run there, where its objects live (an `Event`, a queue, an HTTP client). Else
they share one loop, so that objects bound to a loop (an HTTP client, a connection pool) can be shared. A function that
blocks it does not block a turn or a stop; the next call while it blocks is moved to a new loop, and this is reported.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

from nbtool.clock import new_event_loop
from nbtool.errors import ToolFailed
from nbtool.threads.caller_thread import CallerLoop
from nbtool.threads.loop import LoopThread, reset_after_fork
from nbtool.threads.thread_pool import Outcome
from nbtool.threads.threadless import suspension

BLOCKED_SECONDS = 0.25
"""Seconds that a call waits for the loop to start it; then the loop counts as blocked."""

MAX_BLOCKED = 32
"""Maximum number of blocked loops; a call that would need another one fails."""

Work = Callable[[], Awaitable[Any]]


class ToolLoops:
    """The loop for new calls, and those that a function still blocks; created on first use. Thread-safe."""

    def __init__(self, max_blocked: int = MAX_BLOCKED) -> None:
        self._max_blocked = max_blocked
        self.reset()

    def reset(self) -> None:
        """Forget all loops, in a forked child too: it has none of their threads, and a held lock would stay locked."""
        self._lock = threading.Lock()
        self._blocked: list[_ToolLoop] = []
        self._current: _ToolLoop | None = None

    async def run(self, work: Work, name: str, caller: CallerLoop | None = None) -> tuple[Outcome, str]:
        """Run the user's async work on its loop; return its outcome, and the name of what blocked the loop.

        That of `caller` comes first, if code on it awaits the turn, and it responds.

        Cancelling cancels the work, and returns when it has ended.
        """
        job = _Job(work, name, self)
        if caller is None or caller.loop is None or not _AwaitingLoop(self, caller, caller.loop).start(job):
            self.current().start(job)
        timer = job.home.call_later(BLOCKED_SECONDS, job.move_from, job.tool_loop)
        try:
            return await asyncio.shield(job.future), job.blocker
        except asyncio.CancelledError:
            job.cancel()
            return await asyncio.shield(job.future), job.blocker
        finally:
            timer.cancel()

    def current(self) -> _ToolLoop:
        """Return the loop for new calls."""
        with self._lock:
            self._current = self._current or _ToolLoop(self)
            return self._current

    def replace(self, blocked: _ToolLoop) -> _ToolLoop:
        """Return a replacement for a blocked loop.

        Raises:
            ToolFailed: too many are blocked.
        """
        with self._lock:
            if self._current and self._current is not blocked:
                return self._current  # another call has already replaced it
            if len(self._blocked) >= self._max_blocked:
                raise ToolFailed(f"{self._max_blocked} asynchronous functions block their loops.")
            self._blocked.append(blocked)
            blocked.is_replaced = True
            blocked.loop.call_soon_threadsafe(blocked.end_if_idle)
            self._current = _ToolLoop(self)
            return self._current

    def remove(self, ended: _ToolLoop) -> None:
        """Remove a replaced loop whose thread ends."""
        with self._lock:
            self._blocked.remove(ended)


class _Job:
    """Work that runs on one tool loop; created on the loop that waits for it."""

    def __init__(self, work: Work, name: str, loops: ToolLoops) -> None:
        self.name = name
        self._loops = loops
        self.context = contextvars.copy_context()
        self.home = asyncio.get_running_loop()
        self.future: asyncio.Future[Outcome] = self.home.create_future()
        self.tool_loop: _ToolLoop | _AwaitingLoop | None = None
        self._work = work
        self.blocker = ""
        self._lock = threading.Lock()
        self._is_claimed = False
        self._task: asyncio.Task[Any]  # set when it starts

    async def run(self, tool_loop: _ToolLoop | _AwaitingLoop) -> None:
        """Run the work on a loop, unless it was moved to another one before."""
        if not self._claim(tool_loop):
            return
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        try:
            outcome = Outcome(await self._work())
        except BaseException as error:  # noqa: BLE001 - any exception is the outcome, and must not stop the loop
            outcome = Outcome(error=error)
        with suppress(RuntimeError):  # the waiting loop is closed
            self.home.call_soon_threadsafe(self._finish, outcome)

    def cancel(self) -> None:
        """Cancel the work on the loop where it runs; work that has not started never does."""
        host = self.tool_loop
        if host is None or self._claim(host):
            self._finish(Outcome(error=asyncio.CancelledError()))
        else:
            with suppress(RuntimeError):  # its loop is closed: it has ended
                host.loop.call_soon_threadsafe(self._cancel_task)

    def move_from(self, blocked: _ToolLoop | _AwaitingLoop | None) -> None:
        """Move work that has not started from a blocked loop to another one; on the loop that waits for it."""
        with self._lock:
            if self._is_claimed or blocked is None or self.tool_loop is not blocked:
                return
            self.tool_loop = None  # so that the blocked loop can no longer start it
        self.blocker = blocked.running_name()
        try:
            blocked.replacement().start(self)
        except ToolFailed as error:
            self._finish(Outcome(error=error))
        else:
            self.home.call_later(BLOCKED_SECONDS, self.move_from, self.tool_loop)

    def _cancel_task(self) -> None:
        self._task.cancel()

    def _claim(self, tool_loop: _ToolLoop | _AwaitingLoop) -> bool:
        """Return whether the work may start on this loop; it starts once, on the loop it was moved to last."""
        with self._lock:
            if self._is_claimed or self.tool_loop is not tool_loop:
                return False
            self._is_claimed = True
            return True

    def _finish(self, outcome: Outcome) -> None:
        with suppress(asyncio.InvalidStateError):  # it has ended while it was cancelled
            self.future.set_result(outcome)


class _ToolLoop:
    """One loop in its own daemon thread; after it is replaced it stops with its last job."""

    def __init__(self, loops: ToolLoops) -> None:
        self._loops = loops
        self.loop = new_event_loop()
        self.is_replaced = False
        self._running: set[asyncio.Task[None]] = set()
        LoopThread(target=self._run, name="nbtool-async-tools", daemon=True).start()

    @property
    def has_work(self) -> bool:
        """Whether any work has started and not ended."""
        return bool(self._running)

    def start(self, job: _Job) -> None:
        """Schedule a job, unless it is moved to another loop before it starts."""
        job.tool_loop = self
        self.loop.call_soon_threadsafe(self._start_task, job)

    def replacement(self) -> _ToolLoop:
        """Return a loop in place of this one, which is blocked.

        Raises:
            ToolFailed: too many are.
        """
        return self._loops.replace(self)

    def running_name(self) -> str:
        """Return what runs on the loop now, for a sentence."""
        task = asyncio.current_task(self.loop)
        return f"The async tool `{task.get_name()}`" if task else ""

    def end_if_idle(self) -> None:
        """Stop the thread of a replaced loop that has no work left."""
        if self.is_replaced and not self._running:
            self.loop.stop()

    def _start_task(self, job: _Job) -> None:
        # Its own context: the task on a loop that it was moved away from may still be about to start.
        task = self.loop.create_task(job.run(self), name=job.name, context=job.context.copy())
        self._running.add(task)
        task.add_done_callback(self._remove_task)

    def _remove_task(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self.end_if_idle()

    def _run(self) -> None:
        while self._running or not self.is_replaced:
            with suppress(SystemExit, KeyboardInterrupt):  # from a callback: the loop continues
                self.loop.run_forever()
        self.loop.close()
        self._loops.remove(self)


class _AwaitingLoop:
    """The loop of code that awaits a turn: it belongs to that code, and runs what it gets only while it is awaited."""

    def __init__(self, loops: ToolLoops, caller: CallerLoop, loop: asyncio.AbstractEventLoop) -> None:
        self._loops, self._caller, self.loop = loops, caller, loop
        self._running: set[asyncio.Task[None]] = set()

    def start(self, job: _Job) -> bool:
        """Schedule a job; return whether the loop is open.

        Whether the turn is awaited is known when the loop has ended its step, in which the turn may have been started.
        """
        job.tool_loop = self
        try:
            self.loop.call_soon_threadsafe(self._start_task, job)
        except RuntimeError:
            job.tool_loop = None
            return False
        return True

    def replacement(self) -> _ToolLoop:
        """Return the loop of all other calls."""
        return self._loops.current()

    def running_name(self) -> str:
        """Return what blocks the loop, if it matters that the work does not run there."""
        return "The code that awaits the turn" if self._caller.is_awaited else ""

    def _start_task(self, job: _Job) -> None:
        if not self._caller.is_awaited:
            with suppress(RuntimeError):  # nbtool's loop is closed
                job.home.call_soon_threadsafe(job.move_from, self)
            return
        task = self.loop.create_task(job.run(self), name=job.name, context=job.context.copy())
        self._running.add(task)  # the loop has weak references only
        task.add_done_callback(self._running.discard)


class SharedToolLoop:
    """The running loop, in place of loops of their own where no thread can be started: what blocks it, blocks all."""

    def __init__(self) -> None:
        self._running = 0

    async def run(self, work: Work, name: str, caller: CallerLoop | None = None) -> tuple[Outcome, str]:  # noqa: ARG002 - as there
        """Run the user's async work; as `ToolLoops.run`."""
        task = asyncio.get_running_loop().create_task(self._outcome(work), name=name)
        try:
            return await asyncio.shield(task), ""
        except asyncio.CancelledError:
            task.cancel()
            return await asyncio.shield(task), ""

    @property
    def is_free(self) -> bool:
        """Whether no work has started and not ended."""
        return not self._running

    async def _outcome(self, work: Work) -> Outcome:
        self._running += 1
        try:
            return Outcome(await work())
        except BaseException as error:  # noqa: BLE001 - any exception is the outcome, and must not stop the loop
            return Outcome(error=error)
        finally:
            self._running -= 1


_loops = ToolLoops()
_shared_loop = SharedToolLoop()


async def run_on_tool_loop(work: Work, name: str, caller: CallerLoop | None = None) -> tuple[Outcome, str]:
    """Run the user's async work on the loop of async tools; see `ToolLoops.run`."""
    return await (_shared_loop.run if suspension() else _loops.run)(work, name, caller)


def is_tool_loop_free(caller: CallerLoop) -> bool:
    """Whether work on the loop of async tools would start at once."""
    if caller.loop is not None:
        return False
    return _shared_loop.is_free if suspension() else not _loops.current().has_work


reset_after_fork(_loops.reset)
