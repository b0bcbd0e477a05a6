"""Interrupts of a cell that waits for a turn: the first stops the turn, later ones do not cut its ending short.

An interrupt is raised in the code that runs, which may catch it: a tool (a training loop that ends early), or a
finalizer, whose errors Python only prints. Such an interrupt is raised again as soon as that code has returned.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.clock import monotonic

LINGER_SECONDS = 1.0
"""How long further interrupts are ignored after an interrupted cell's turn has ended."""

AGAIN_SECONDS = 0.5
"""Seconds in which interrupts count as one; a later one is passed on to a tool that has caught the former."""

Handler = Callable[[int, FrameType | None], Any]


class Interrupts:
    """Passes one interrupt on while a turn runs; those before its start, and all after the first, are only recorded.

    A tool that caught the first one and still runs after `again_seconds` gets the next.
    """

    def __init__(self, turn: Turn, former: Handler, again_seconds: float = AGAIN_SECONDS) -> None:
        self._turn = turn
        self._former = former
        self._again_seconds = again_seconds
        self._is_open = False
        self._until: float | None = None
        self._passed_on: float | None = None
        self.is_received = False

    def begin(self) -> None:
        """Start the turn, and pass an interrupt on from now on.

        Raises:
            KeyboardInterrupt: there was one before.
        """
        self._turn.start()
        self._is_open = True
        if self.is_received:
            raise KeyboardInterrupt

    def poll(self) -> None:
        """Check, while the turn runs, whether something caught an interrupt that was passed on.

        Raises:
            KeyboardInterrupt: the same once more, which stops the turn.
        """
        is_stopped = self._turn.cancel_signal.is_set or self._turn.done.done()
        if self._passed_on is not None and not is_stopped:
            raise KeyboardInterrupt

    def hold(self) -> None:
        """Stop passing interrupts on."""
        self._is_open = False

    def linger(self, seconds: float) -> None:
        """Ignore interrupts while the cell ends: they would cut its last output short."""
        self._until = monotonic() + seconds

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        is_over = self._until is not None and monotonic() > self._until
        if (
            self._turn.caller_thread.is_interrupting or is_over
        ):  # the first is nbtool's own, which stops a synchronous tool
            self._former(number, frame)
            return
        is_first, self.is_received = not self.is_received, True
        if (is_first or self._is_caught()) and self._is_open and not self._turn.done.done():
            self._passed_on = monotonic()
            self._former(number, frame)

    def _is_caught(self) -> bool:
        """Whether the tool that runs has caught the former interrupt."""
        is_long_ago = self._passed_on is not None and monotonic() - self._passed_on > self._again_seconds
        return is_long_ago and not self._turn.caller_thread.is_free


@contextmanager
def one_interrupt(
    turn: Turn, *, linger_seconds: float | None = None, again_seconds: float = AGAIN_SECONDS
) -> Iterator[Interrupts]:
    """Handle the interrupts of this thread, if it is the main one and Python's default handler is set.

    See `Interrupts` for `again_seconds`. With `linger_seconds`, interrupts that come so soon after an interrupted turn
    are ignored until the cell has ended: a kernel then sets its own handler again.
    """
    former = signal.getsignal(signal.SIGINT)
    is_ours = threading.current_thread() is threading.main_thread() and callable(former)
    interrupts = Interrupts(turn, former if callable(former) else signal.default_int_handler, again_seconds)
    if is_ours:
        signal.signal(signal.SIGINT, interrupts.on_signal)
    try:
        yield interrupts
    finally:
        if is_ours and linger_seconds is not None and interrupts.is_received:
            interrupts.linger(linger_seconds)
        elif is_ours:
            signal.signal(signal.SIGINT, former)
