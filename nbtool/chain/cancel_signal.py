"""The signal that stops a turn; tasks are stopped and awaited in `task_stopping.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class CancelSignal:
    """The cancellation signal of a turn; set once, from any thread.

    Only this signal says whether a turn was cancelled, not the type of an exception.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._listeners: list[Callable[[], object]] = []
        self._set = False

    @property
    def is_set(self) -> bool:
        """Whether the turn was stopped."""
        return self._set

    def cancel(self, reason: str = "stopped by the person") -> None:
        """Stop the turn; a second call has no effect."""
        if self._set:
            return
        self._set, self.reason = True, reason
        for listener in list(self._listeners):
            listener()

    async def wait(self) -> None:
        """Return when the turn is stopped."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        self._listeners.append(lambda: loop.call_soon_threadsafe(stopped.set))
        if not self._set:
            await stopped.wait()
