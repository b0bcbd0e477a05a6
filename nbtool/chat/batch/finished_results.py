"""The results of the calls of a map: dropped with their turn, or, where turns are kept, beyond a bound."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from nbtool.chat.turn import Turn
from nbtool.tools.variables.store import Variables


class FinishedResults:
    """Drops results of turns that have ended: those of the earliest first, where all together exceed `max_bytes`.

    The results of a running turn are bounded by its own store. Those of the latest turn are kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._running: WeakKeyDictionary[Turn, Variables] = WeakKeyDictionary()
        self._finished: dict[Turn, tuple[Variables, int]] = {}
        self._size = 0

    def begin(self, turn: Turn, variables: Variables) -> None:
        """Note where the results of a turn are stored."""
        with self._lock:
            self._running[turn] = variables

    def finish(self, turn: Turn) -> None:
        """Count the results of a turn that has ended, and drop those of earlier ones that have no room any more."""
        with self._lock:
            variables = self._running.pop(turn, None)
            if variables is None or not (size := variables.stored_bytes):
                return
            self._finished[turn] = (variables, size)
            self._size += size
            while self._size > self._max_bytes and len(self._finished) > 1:
                self._drop(next(iter(self._finished)))

    def hold(self, turn: Turn) -> None:
        """Count the results of a turn no more, and keep them until they are dropped: somebody uses them."""
        with self._lock:
            if turn in self._finished:
                variables, size = self._finished.pop(turn)
                self._size -= size
                self._running[turn] = variables

    def drop(self, turn: Turn) -> None:
        """Drop the results of a turn."""
        with self._lock:
            if turn in self._finished:
                self._drop(turn)
            elif variables := self._running.pop(turn, None):
                variables.drop_all()

    def _drop(self, turn: Turn) -> None:
        variables, size = self._finished.pop(turn)
        self._size -= size
        variables.drop_all()
