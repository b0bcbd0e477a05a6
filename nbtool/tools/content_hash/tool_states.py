"""The states in which approved runs leave their own tools: what a run changes of its tool makes it no other tool."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict

MAX_STATES = 10_000
"""States that are known; beyond them the oldest are forgotten, and their tools are asked about again."""


class ToolStates:
    """The first state of each tool, found from the states that its own runs led to. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: OrderedDict[str, str] = OrderedDict()
        self._runs: Counter[str] = Counter()

    def first_token(self, token: str) -> str:
        """Give the state from which a tool's own runs led to this one; the state itself where there is none."""
        with self._lock:
            return self._first.get(token, token)

    def record(self, token: str, after: str) -> None:
        """Note that a run of the tool led from one state to another."""
        with self._lock:
            first = self._first.get(token, token)
            if after != first:
                self._first[after] = first
            while len(self._first) > MAX_STATES:
                self._first.popitem(last=False)

    def begin_run(self, token: str) -> None:
        """Note that a tool runs which was approved in this state."""
        with self._lock:
            self._runs[token] += 1

    def is_running(self, token: str) -> bool:
        """Whether a tool runs that was approved in this state."""
        with self._lock:
            return self._runs[token] > 0

    def end_run(self, token: str) -> None:
        """Note that a run of a tool has ended."""
        with self._lock:
            self._runs[token] -= 1
            if self._runs[token] <= 0:
                del self._runs[token]
