"""On a worker: start no call of a prompt that may have started on another worker, or whose map is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nbtool.chain.hooks import RequestContext
from nbtool.errors import Cancelled, WorkerLost

NOT_REPEATED = "A worker ended after a call of this prompt had started, or was about to: what the call did may be done."
NOT_REPEATED_FIX = (
    "Map again: it goes on from the result of the call, if that is known, and is not sent otherwise. Then check what "
    "the call did; with `repeat_calls=True` the prompt is sent from its beginning."
)

MAY_HAVE_STARTED = (
    "The worker ended before its answer came back, and a call of this prompt may have started: what it did may be done."
)
NOT_STARTED = "The worker ended before its answer came back. No call of this prompt had started."
NOT_STARTED_FIX = "Map again: it is sent."

NO_CLAIM = "The scheduler was gone before a call of this prompt could start on its worker."

NO_HOME = "The process of this map is gone: no more calls start."


class CallClaim:
    """A plugin of one prompt: before its first call starts, it claims the prompt; without the claim none starts.

    A call that waits for a decision has not started: if its worker is lost, it is asked about again on another.
    `free` are names of nbtool's own tools, which only read the variables of the chat.
    """

    hook_seconds = None  # the scheduler may be slow

    def __init__(self, claim: Callable[[], bool], free: frozenset[str] = frozenset()) -> None:
        self._claim = claim
        self._free = free
        self._lock = threading.Lock()
        self._is_claimed: bool | None = None
        self._is_unknown = False

    @property
    def is_refused(self) -> bool:
        """Whether another worker has the claim."""
        return self._is_claimed is False and not self._is_unknown

    def may_start(self, name: str) -> bool:
        """Claim the prompt, once for all of its calls; return whether this call may start."""
        if name in self._free:
            return True
        with self._lock:  # the calls of a round start together
            if self._is_claimed is None:
                self._is_claimed = self._ask_claim()
        return self._is_claimed

    def _ask_claim(self) -> bool:
        try:
            return self._claim()
        except Exception:  # noqa: BLE001 - the libraries of engines raise anything once their scheduler is gone
            self._is_unknown = True
            return False

    def on_before_request(self, _: RequestContext) -> None:
        """End the turn after a call that was refused: the model would answer without its result.

        Raises:
            WorkerLost: a call may have started on another worker, or nobody could be asked whether one has.
        """
        if self._is_claimed is False:
            raise WorkerLost(NO_CLAIM, fix=NOT_STARTED_FIX) if self._is_unknown else lost_after_calls()


class HomeCheck:
    """A plugin: no call starts once the process of its map is gone, because the next map could not know of it."""

    def __init__(self, has_home: Callable[[], bool]) -> None:
        self._has_home = has_home
        self._is_gone = False

    def may_start(self, _: str) -> bool:
        """Whether the process is there."""
        self._is_gone = self._is_gone or not self._ask_home()
        return not self._is_gone

    def _ask_home(self) -> bool:
        try:
            return self._has_home()
        except Exception:  # noqa: BLE001 - as for a claim
            return False

    def on_before_request(self, _: RequestContext) -> None:
        """End the turn after a call that was refused.

        Raises:
            Cancelled: the process is gone.
        """
        if self._is_gone:
            raise Cancelled(NO_HOME)


def lost_after_calls() -> WorkerLost:
    """Return the error of a prompt whose calls started, or were about to, on a lost worker."""
    return WorkerLost(NOT_REPEATED, fix=NOT_REPEATED_FIX, may_have_run=True)


def perhaps_lost_after_calls() -> WorkerLost:
    """Return the error of a prompt of a lost worker that does not say whether its calls had started."""
    return WorkerLost(MAY_HAVE_STARTED, fix=NOT_REPEATED_FIX, may_have_run=True)


def lost_before_calls() -> WorkerLost:
    """Return the error of a prompt of a lost worker of which no call had started."""
    return WorkerLost(NOT_STARTED, fix=NOT_STARTED_FIX)
