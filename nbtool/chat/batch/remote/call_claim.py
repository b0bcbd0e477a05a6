"""On a worker: start no call of a prompt that may have started on another worker."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nbtool.chain.hooks import CallContext
from nbtool.errors import WorkerLost

NOT_REPEATED = "A worker ended after a call of this prompt had started: what the call did may be done."
NOT_REPEATED_FIX = "It is not repeated. Check what it did, and send the prompt again if that is right."


class CallClaim:
    """A plugin of one prompt: before its first call starts, it claims the prompt; without the claim the turn ends.

    `free` are names of nbtool's own tools, which only read the variables of the chat.
    """

    hook_seconds = None  # the scheduler may be slow

    def __init__(self, claim: Callable[[], bool], free: frozenset[str] = frozenset()) -> None:
        self._claim = claim
        self._free = free
        self._lock = threading.Lock()
        self._is_claimed: bool | None = None

    @property
    def is_refused(self) -> bool:
        """Whether another worker has the claim."""
        return self._is_claimed is False

    def on_call_start(self, call: CallContext) -> None:
        """Claim the prompt, once for all of its calls.

        Raises:
            WorkerLost: a call may have started on another worker.
        """
        if call.call.name in self._free:
            return
        with self._lock:  # the calls of a round start together
            if self._is_claimed is None:
                self._is_claimed = self._claim()
        if not self._is_claimed:
            raise lost_after_calls()


def lost_after_calls() -> WorkerLost:
    """Return the error of a prompt whose calls may have run on a lost worker."""
    return WorkerLost(NOT_REPEATED, fix=NOT_REPEATED_FIX, may_have_run=True)
