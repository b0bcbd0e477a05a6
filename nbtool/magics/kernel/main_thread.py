"""The kernel's main thread between two cells, for work of other threads that belongs there."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any

from nbtool.errors import ToolFailed

RETRY_SECONDS = 0.05
"""Seconds until it is tried again while a cell awaits something, and the loop of the main thread is free."""

INTERRUPTED = "The user interrupted it."


class MainThreadExecutor(Executor):
    """Runs work on the main thread of a kernel once no cell runs, with its output below the cell that created this.

    Work that runs can be interrupted like a cell, by the user and by `interrupt`.
    """

    def __init__(self, shell: Any) -> None:
        self._shell, self._context = shell, copy_context()
        self._cells = 0
        self._lock = threading.Lock()
        self._running: Future[Any] | None = None
        shell.events.register("pre_run_cell", self._begin_cell)
        shell.events.register("post_run_cell", self._end_cell)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function when the cells that run now have ended; the future can be cancelled until then."""
        future: Future[Any] = Future()
        called = partial(copy_context().run, self._in_cell, partial(work, *args, **kwargs))
        self._shell.kernel.io_loop.add_callback(self._run, future, called)
        return future

    def interrupt(self, future: Future[Any]) -> bool:
        """Raise KeyboardInterrupt in some work; return whether it was running."""
        thread = threading.main_thread().ident
        with self._lock:
            if self._running is not future or thread is None or sys.platform == "win32":
                return False
            signal.pthread_kill(thread, signal.SIGINT)
            return True

    def close(self) -> None:
        """Follow the cells no more."""
        for event, callback in (("pre_run_cell", self._begin_cell), ("post_run_cell", self._end_cell)):
            with suppress(ValueError):  # it was closed before
                self._shell.events.unregister(event, callback)
        self._cells = 0

    def _run(self, future: Future[Any], work: Callable[[], Any]) -> None:
        if self._cells:
            self._shell.kernel.io_loop.call_later(RETRY_SECONDS, self._run, future, work)
            return
        if not future.set_running_or_notify_cancel():
            return
        try:
            with self._interruptible(future):
                value = work()
        except KeyboardInterrupt:
            future.set_exception(ToolFailed(INTERRUPTED))
        except BaseException as error:  # noqa: BLE001 - every error is passed to the thread that waits, SystemExit too
            future.set_exception(error)
        else:
            future.set_result(value)

    @contextmanager
    def _interruptible(self, future: Future[Any]) -> Iterator[None]:
        """Let an interrupt of the kernel end the block, as it ends a cell."""
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._running = future
            yield
        finally:
            self._leave(handler)

    def _leave(self, handler: Any) -> None:
        is_left = False
        while not is_left:
            with suppress(KeyboardInterrupt):  # one that was sent just before
                with self._lock:  # no further one is sent
                    self._running = None
                signal.signal(signal.SIGINT, handler)
                is_left = True

    def _in_cell(self, work: Callable[[], Any]) -> Any:
        """Do some work of a call as part of the cell: ipykernel 7 takes the cell of an output from the context."""
        own = copy_context()
        for variable, value in self._context.items():
            if variable not in own:
                variable.set(value)
        return work()

    def _begin_cell(self, _: object) -> None:
        self._cells += 1

    def _end_cell(self, _: object) -> None:
        self._cells = max(0, self._cells - 1)  # the cell in which this was created began before it
