"""Tool states after approved runs: a change by the tool's own run requires no new approval."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict

MAX_STATES = 10_000
"""Maximum number of recorded states; the oldest are dropped, and approval of their tools is asked again."""


class ToolStates:
    """Maps each state of a tool to the first one from which its own runs led to it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: OrderedDict[str, str] = OrderedDict()
        self._runs: Counter[str] = Counter()

    def first_token(self, token: str) -> str:
        """Return the state from which a tool's own runs led to this one; this state if there is none."""
        return self.first_tokens(token)[0]

    def first_tokens(self, *tokens: str) -> tuple[str, ...]:
        """Return the `first_token` of each, all as of one moment: a run may be recorded between two."""
        with self._lock:
            return tuple(self._first.get(token, token) for token in tokens)

    def record(self, token: str, after: str) -> None:
        """Record that a run of the tool led from one state to another."""
        with self._lock:
            first = self._first.get(token, token)
            if after != first:
                self._first[after] = first
            while len(self._first) > MAX_STATES:
                self._first.popitem(last=False)

    def begin_run(self, token: str) -> None:
        """Record that a run of a tool approved in this state has started."""
        with self._lock:
            self._runs[token] += 1

    def is_running(self, token: str) -> bool:
        """Whether a tool approved in this state is running."""
        with self._lock:
            return self._runs[token] > 0

    def is_running_elsewhere(self, token: str) -> bool:
        """Whether a tool approved in this state is running besides the run that asks."""
        with self._lock:
            return self._runs[token] > 1

    def end_run(self, token: str) -> None:
        """Record that a run of a tool has ended."""
        with self._lock:
            self._runs[token] -= 1
            if self._runs[token] <= 0:
                del self._runs[token]
