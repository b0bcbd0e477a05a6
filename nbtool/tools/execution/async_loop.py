"""The loop on which asynchronous tools and approvers of the person's run, apart from nbtool's own.

They share one loop, so that what is bound to a loop (an HTTP client, a connection pool) serves all of them. A function
that blocks it holds neither a turn nor a stop; what is called next while it blocks is moved to a new loop, and says so.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.loop import LoopThread
from nbtool.thread_pool import Outcome

BLOCKED_SECONDS = 0.25
"""How long a call waits for the loop to begin it; then the loop is taken to be blocked."""

MAX_BLOCKED = 32
"""Loops that may be blocked at once; a call that would need one more fails."""

Work = Callable[[], Awaitable[Any]]


async def run_on_tool_loop(work: Work, name: str) -> tuple[Outcome, str]:
    """Run asynchronous work of the person's on its loop; give what came of it, and the name of what blocked the loop.

    Cancelling cancels the work, and returns when that has ended.
    """
    job = _Job(work, name)
    _current_loop().start(job)
    timer = job.home.call_later(BLOCKED_SECONDS, job.move_if_blocked)
    try:
        return await asyncio.shield(job.future), job.blocker
    except asyncio.CancelledError:
        job.cancel()
        return await asyncio.shield(job.future), job.blocker
    finally:
        timer.cancel()


class _Job:
    """Some work, which runs on one tool loop; created on the loop that waits for it."""

    def __init__(self, work: Work, name: str) -> None:
        self.name = name
        self.context = contextvars.copy_context()
        self.home = asyncio.get_running_loop()
        self.future: asyncio.Future[Outcome] = self.home.create_future()
        self.tool_loop: _ToolLoop | None = None
        self._work = work
        self.blocker = ""
        self._lock = threading.Lock()
        self._is_claimed = False
        self._task: asyncio.Task[Any] | None = None

    async def run(self, tool_loop: _ToolLoop) -> None:
        """Do the work on a loop, unless it was given to another one before this step of it."""
        if not self._claim(tool_loop):
            return
        self._task = asyncio.current_task()
        try:
            outcome = Outcome(await self._work())
        except BaseException as error:  # noqa: BLE001 - whatever it raises is its outcome, and must not end the loop
            outcome = Outcome(error=error)
        with suppress(RuntimeError):  # the loop that waited is closed
            self.home.call_soon_threadsafe(self._finish, outcome)

    def cancel(self) -> None:
        """Cancel the work, on whatever loop it runs; work that has not begun never does."""
        host = self.tool_loop
        if self._claim(host):
            self._finish(Outcome(error=asyncio.CancelledError()))
        elif host:
            with suppress(RuntimeError):  # its loop is closed: it has ended
                host.loop.call_soon_threadsafe(self._cancel_task)

    def move_if_blocked(self) -> None:
        """Give work that has not begun to another loop; its own is blocked."""
        blocked = self.tool_loop
        with self._lock:
            if self._is_claimed or blocked is None:
                return
            self.tool_loop = None  # from now on the blocked loop cannot begin it
        self.blocker = blocked.running_name()
        if host := _replace_loop(blocked):
            host.start(self)
            self.home.call_later(BLOCKED_SECONDS, self.move_if_blocked)
        else:
            self._finish(Outcome(error=ToolFailed(f"{MAX_BLOCKED} asynchronous functions block their loops.")))

    def _cancel_task(self) -> None:
        if self._task:
            self._task.cancel()

    def _claim(self, tool_loop: _ToolLoop | None) -> bool:
        """Say whether the work begins on this loop now; it begins once, on the loop it was given to last."""
        with self._lock:
            if self._is_claimed or self.tool_loop is not tool_loop:
                return False
            self._is_claimed = True
            return True

    def _finish(self, outcome: Outcome) -> None:
        if not self.future.done():
            self.future.set_result(outcome)


class _ToolLoop:
    """One loop in a daemon thread of its own; once it is replaced it ends with its last job."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.is_replaced = False
        self._running: set[asyncio.Task[None]] = set()
        LoopThread(target=self._run, name="nbtool-async-tools", daemon=True).start()

    def start(self, job: _Job) -> None:
        """Have a job begun, unless it is given to another loop before this one comes to it."""
        job.tool_loop = self
        self.loop.call_soon_threadsafe(self._start_task, job)

    def running_name(self) -> str:
        """Name what runs on the loop now."""
        task = asyncio.current_task(self.loop)
        return task.get_name() if task else ""

    def end_if_idle(self) -> None:
        """End the thread of a loop that was replaced and has nothing left to do."""
        if self.is_replaced and not self._running:
            self.loop.stop()

    def _start_task(self, job: _Job) -> None:
        # A context of its own: the task on a loop that it was moved away from may still be about to begin.
        task = self.loop.create_task(job.run(self), name=job.name, context=job.context.copy())
        self._running.add(task)
        task.add_done_callback(self._remove_task)

    def _remove_task(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self.end_if_idle()

    def _run(self) -> None:
        while not self.is_replaced:
            with suppress(SystemExit, KeyboardInterrupt):  # of a callback: the loop goes on
                self.loop.run_forever()
        if self._running:
            self.loop.run_forever()
        self.loop.close()
        with _lock:
            if self in _blocked:
                _blocked.remove(self)


_lock = threading.Lock()
_blocked: list[_ToolLoop] = []
_current: list[_ToolLoop] = []


def _current_loop() -> _ToolLoop:
    """Give the loop that new calls go to; made when first asked for."""
    with _lock:
        if not _current:
            _current.append(_ToolLoop())
        return _current[0]


def _replace_loop(blocked: _ToolLoop) -> _ToolLoop | None:
    """Give a loop in place of one that is blocked; None where too many are."""
    with _lock:
        if _current and _current[0] is not blocked:
            return _current[0]  # another call has found it blocked before
        if len(_blocked) >= MAX_BLOCKED:
            return None
        _blocked.append(blocked)
        blocked.is_replaced = True
        blocked.loop.call_soon_threadsafe(blocked.end_if_idle)
        _current[:] = [_ToolLoop()]
        return _current[0]


def _reset_after_fork() -> None:
    global _lock  # one that another thread held at the fork is held for ever in the child
    _lock = threading.Lock()
    _blocked.clear()
    _current.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
    os.register_at_fork(after_in_child=_reset_after_fork)  # a forked child has the loops and none of their threads
