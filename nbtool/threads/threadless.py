"""Waiting where no thread can be started, as in a browser's Python: the one thread is suspended instead.

Pyodide runs Python on the event loop of a browser's worker, which has no threads and no sockets. A synchronous caller
waits there by stack switching: its frames are suspended, and the loop continues. `suspension` is the only place that
decides whether nbtool runs like that; everything else asks it once, when it creates a loop, a queue or a pool.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nbtool.errors import NbtoolError

T = TypeVar("T")

thread_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)
"""Returns the processor time of this thread in seconds; where there is only one, the system may count the process's."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """How the one thread waits: `wait` suspends the caller until an awaitable on the loop is done."""

    loop: asyncio.AbstractEventLoop
    wait: Callable[[Awaitable[Any]], Any]


def suspension_of(platform: str) -> Suspension | None:
    """Return how to wait on a platform (`sys.platform`) without threads; None where there are threads."""
    if platform != "emscripten":
        return None
    from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]  # noqa: PLC0415 - exists only there

    def wait(awaitable: Awaitable[Any]) -> Any:
        if not can_run_sync():
            raise NbtoolError(
                "This browser cannot suspend Python (WebAssembly stack switching).",
                fix="Use a recent Chrome or Edge, or the async forms: `await chat.start(…)`.",
            )
        return run_sync(awaitable)

    return Suspension(asyncio.get_event_loop(), wait)


_suspension = suspension_of(sys.platform)


def suspension() -> Suspension | None:
    """Return how the one thread of this process waits; None if it can start threads."""
    return _suspension


def use_suspension(chosen: Suspension | None) -> None:
    """Choose for this process, before its first turn; another interpreter without threads may need to."""
    global _suspension
    _suspension = chosen


class SharedLoop:
    """The loop of the one thread, in place of a background loop."""

    def __init__(self, suspension: Suspension) -> None:
        self._suspension = suspension

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, in a copy of the caller's context."""
        future: Future[T] = Future()
        task = self._suspension.loop.create_task(work, context=contextvars.copy_context())
        task.add_done_callback(lambda _: copy_result(future, task))
        future.add_done_callback(lambda _: future.cancelled() and task.cancel())
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run a synchronous function on the loop."""
        self._suspension.loop.call_soon(callback)

    def wait(self, future: Future[Any], seconds: float) -> bool:
        """Suspend the caller until a future is done, or for some seconds; return whether it is done."""
        if not future.done():
            done = SuspendedEvent(self._suspension)
            future.add_done_callback(lambda _: done.set())
            done.wait(seconds)
        return future.done()

    def describe_blocked(self) -> str:
        """Return one line on what to do where the loop does not respond: nothing can tell what runs on it."""
        return "Waiting: another turn blocks the one thread of this kernel. Restart the kernel if it never returns."

    def is_current(self) -> bool:
        """Whether the caller must not wait: never, because waiting suspends only the caller."""
        return False


class SuspendedEvent:
    """As `threading.Event`; its waiters are suspended."""

    def __init__(self, suspension: Suspension) -> None:
        self._suspension = suspension
        self._event = asyncio.Event()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._event.is_set()

    def set(self) -> None:
        """Set it, and continue its waiters."""
        self._event.set()

    def clear(self) -> None:
        """Reset it."""
        self._event.clear()

    def wait(self, timeout: float | None = None) -> bool:
        """Suspend the caller until it is set, or for some seconds; return whether it is set."""
        return self.is_set() or bool(self._suspension.wait(self.wait_async(timeout)))

    async def wait_async(self, timeout: float | None) -> bool:
        """Wait on the loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        return self.is_set()


class SuspendedQueue(Generic[T]):
    """As `queue.SimpleQueue`; its reader is suspended."""

    def __init__(self, suspension: Suspension) -> None:
        self._items: deque[T] = deque()
        self._has_items = SuspendedEvent(suspension)

    def put(self, item: T) -> None:
        """Add an item at the end."""
        self._items.append(item)
        self._has_items.set()

    def get(self, timeout: float | None = None) -> T:
        """Take the first item; suspend the caller until there is one.

        Raises:
            queue.Empty: there was none for `timeout` seconds.
        """
        if not self._items:
            self._has_items.clear()
            self._has_items.wait(timeout)
        return self.get_nowait()

    def empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def get_nowait(self) -> T:
        """Take the first item.

        Raises:
            queue.Empty: there is none.
        """
        if not self._items:
            raise queue.Empty
        return self._items.popleft()


WaitEvent = threading.Event | SuspendedEvent


def new_event() -> WaitEvent:
    """Return an event that the process's threads, or its one thread, can wait for."""
    return SuspendedEvent(_suspension) if _suspension else threading.Event()


def new_queue() -> queue.SimpleQueue[Any] | SuspendedQueue[Any]:
    """Return a queue that the process's threads, or its one thread, can wait for."""
    return SuspendedQueue(_suspension) if _suspension else queue.SimpleQueue()


def result_of(future: Future[T]) -> T:
    """Wait for a future, however this process waits, and return its result."""
    if _suspension and not future.done():
        done = SuspendedEvent(_suspension)
        future.add_done_callback(lambda _: done.set())
        done.wait()
    return future.result()


async def wait_for_event(event: WaitEvent, seconds: float) -> bool:
    """Wait on the loop for an event that any thread may set; return whether it is set."""
    if isinstance(event, SuspendedEvent):
        return await event.wait_async(seconds)
    return await asyncio.to_thread(event.wait, seconds)


def copy_result(future: Future[T], task: asyncio.Task[T]) -> None:
    """Settle a future as its task ended."""
    if future.cancelled():
        return
    if task.cancelled():
        future.cancel()
    elif error := task.exception():
        future.set_exception(error)
    else:
        future.set_result(task.result())
