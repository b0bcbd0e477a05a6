"""The background event loop, and the bridge from synchronous callers to the async core.

One daemon thread per process runs an asyncio loop, on which every turn runs, independent of the thread, cell or loop
that started it; for the thread of a caller that waits, see `caller_thread`. Where no thread can be started, the loop
that is there takes the place of the background loop; see `threadless`.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from nbtool.clock import monotonic, new_event_loop
from nbtool.errors import NbtoolError
from nbtool.threads.threadless import SharedLoop, copy_result, new_event, suspension

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Seconds between two polls while the caller's thread waits; an interrupt is noticed at once."""


BLOCKED_SECONDS = 0.6
"""Seconds without a response of the loop, after which it counts as blocked."""

BLOCKED_POLLS = 40
"""Number of polls without a response of the loop, after which a waiting thread reports what blocks it."""

_OWN_FILES, _STDLIB = str(Path(__file__).parents[1]) + os.sep, str(Path(os.__file__).parent) + os.sep


def reset_after_fork(reset: Callable[[], object]) -> None:
    """Call `reset` in every forked child, which inherits the loops and locks of this process, but not its threads."""
    if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
        os.register_at_fork(after_in_child=reset)


def is_cancelling() -> bool:
    """Whether the running task is being cancelled, as opposed to something in it raising CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class LoopThread(threading.Thread):
    """A thread that runs an event loop of nbtool."""


class BackgroundLoop:
    """The asyncio loop of nbtool, in a daemon thread of its own."""

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._thread = LoopThread(target=self._run, name="nbtool", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop forever: a SystemExit or a KeyboardInterrupt in a task ends that task only."""
        while True:
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
                return

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, in a copy of the caller's context.

        The context carries the running cell (ipykernel keeps the parent message in a context variable), so that the
        output of the coroutine is shown in the cell that started it.
        """
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def start() -> None:
            task = self._loop.create_task(work, context=context)
            task.add_done_callback(lambda _: copy_result(future, task))
            future.add_done_callback(lambda _: self._cancel(task, future))

        self._loop.call_soon_threadsafe(start)
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run a synchronous function on the loop, from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def wait(self, future: Future[Any], seconds: float) -> bool:
        """Block this thread until a future is done, or for some seconds; return whether it is done."""
        return bool(wait({future}, seconds).done)

    def describe_blocked(self) -> str:
        """Return one line on what the loop runs right now: the outermost function that is not nbtool's or Python's."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        outermost = None
        while frame:
            outermost, frame = frame if _is_own(frame) else outermost, frame.f_back
        name = outermost.f_code.co_qualname.rpartition("<locals>.")[2] if outermost else ""
        what = f"`{name}` (line {outermost.f_lineno})" if outermost else "another turn"
        return (
            f"Waiting: {what} blocks nbtool's event loop, on which every turn runs. This continues once it returns;"
            " restart the kernel if it never does."
        )

    def is_current(self) -> bool:
        """Whether the caller is on a thread that runs an event loop of nbtool, which must not be blocked."""
        return isinstance(threading.current_thread(), LoopThread)

    def _cancel(self, task: asyncio.Task[Any], future: Future[Any]) -> None:
        if future.cancelled():
            self._loop.call_soon_threadsafe(task.cancel)


class LoopWatch:
    """Checks on every call that the loop still responds; raises TimeoutError once it is blocked."""

    def __init__(self) -> None:
        self._responded = new_event()
        self._ping()

    def __call__(self) -> None:
        """Check now.

        Raises:
            TimeoutError: the loop has not responded for `BLOCKED_SECONDS`.
        """
        if self._responded.is_set():
            self._ping()
        elif monotonic() > self._ends:
            raise TimeoutError

    def _ping(self) -> None:
        self._responded.clear()
        self._ends = monotonic() + BLOCKED_SECONDS
        background_loop().call_soon(self._responded.set)


class BlockedNotice:
    """Reports once, while a thread polls, what blocks the loop that it waits for."""

    def __init__(self, report: Callable[[str], object], blocked_polls: int = BLOCKED_POLLS) -> None:
        self._report = report
        self._blocked_polls = blocked_polls
        self._responded = new_event()
        self._polls = 0

    def poll(self) -> None:
        """Check once in so many polls; seconds would include a long job that this thread itself runs."""
        self._polls += 1
        if self._polls == 1:
            self._responded.clear()
            background_loop().call_soon(self._responded.set)
        elif self._polls == self._blocked_polls:
            if self._responded.is_set():
                self._polls = 0
            else:
                self._report(background_loop().describe_blocked())


@cache
def background_loop() -> BackgroundLoop | SharedLoop:
    """Return the process's loop, which is started on the first call."""
    suspended = suspension()
    return SharedLoop(suspended) if suspended else BackgroundLoop()


reset_after_fork(background_loop.cache_clear)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and block this thread until it is done.

    Raises:
        NbtoolError: called on the loop's own thread, where it would deadlock.
    """
    if background_loop().is_current():
        work.close()
        raise NbtoolError("A blocking call was made on nbtool's own loop.", fix="Await the async form instead.")
    future, blocked = background_loop().submit(work), BlockedNotice(warn_blocked)
    while not background_loop().wait(future, POLL_SECONDS):
        blocked.poll()
    return future.result()


def wait_for_future(future: Future[T], seconds: float) -> T:
    """Block this thread until a future is done, and return its result.

    Raises:
        TimeoutError: it took longer than `seconds`.
    """
    if not background_loop().wait(future, seconds):
        raise TimeoutError
    return future.result()


_shown_warnings: dict[Any, Any] = {}
"""Python's record of the warnings that were shown."""


def report_warning(text: str, *, is_repeated: bool = False) -> None:
    """Warn from a thread of nbtool's, where an exception would leave a turn without an end: never raise.

    Where warnings are errors (`python -W error`), the text is printed. With `is_repeated` it is shown each time, not
    once.
    """
    try:
        # Not from the file that warns: Python would show a line of its source below the text.
        warnings.warn_explicit(text, UserWarning, "nbtool", 1, registry={} if is_repeated else _shown_warnings)
    except Exception:  # noqa: BLE001 - a filter makes it an error, or a `showwarning` of the user fails
        print(f"nbtool: {text}", file=sys.stderr)  # noqa: T201 - a warning cannot be shown


def warn_blocked(text: str) -> None:
    """Warn that something blocks the loop."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _is_own(frame: FrameType) -> bool:
    """Return whether code is neither nbtool's nor Python's own."""
    name = frame.f_code.co_filename
    is_stdlib = name.startswith(_STDLIB) and "-packages" not in name
    return not (is_stdlib or name.startswith((_OWN_FILES, "<frozen")))
