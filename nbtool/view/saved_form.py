"""The output of a running widget as a notebook that is saved now keeps it: static, built from time to time.

Where the page writes the notebook's file (JupyterLab, Notebook 7) it gets the form as a message, and puts it in the
place of the widget for the moment of a save. Elsewhere the display itself is updated, which keeps its widget. How often
a form is built depends on how long the last one took and how large it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nbtool.clock import monotonic
from nbtool.threads.thread_pool import Outcome, run_in_worker
from nbtool.view.patch_batching import LoopClock

MESSAGE_SECONDS = 1.5
"""Seconds between two forms for a page that writes the file."""

DISPLAY_SECONDS = 5.0
"""Seconds between two updates of a display, and before the first: pages that write the file have connected by then."""

COST_FACTOR = 50
"""A form that took a second to build is kept for this many: 2 % of the time of one core at most."""

BYTES_PER_SECOND = 100_000
"""Images and long texts are sent less often."""

Form = dict[str, Any]
"""A mimebundle without a widget."""

Build = Callable[[], Form]


class SavedForm:
    """Renews the form while something changes, until it is stopped; on the loop only.

    `prepare()` returns what builds the form, which runs in a worker thread; `deliver(form)` is called on the loop.
    """

    def __init__(
        self, prepare: Callable[[], Build], deliver: Callable[[Form], object], clock: LoopClock | None = None
    ) -> None:
        self._prepare, self._deliver, self._clock = prepare, deliver, clock
        self._timer: asyncio.TimerHandle | None = None
        self._next: float | None = None
        self._stale: float | None = None
        self._is_building = self._is_stopped = False

    def renew(self, seconds: float) -> None:
        """Build the form again, at the earliest so many seconds after the last one; 0 means immediately."""
        if self._is_stopped:
            return
        if self._is_building:
            self._stale = seconds if self._stale is None else min(seconds, self._stale)
            return
        clock = self._clock or asyncio.get_running_loop()
        self._next = clock.time() if self._next is None else self._next
        wait = self._next + seconds - clock.time()
        if seconds and wait > 0:
            self._timer = self._timer or clock.call_later(wait, self._build)
            return
        if self._timer is not None:
            self._timer.cancel()
        self._build()

    def stop(self) -> None:
        """Build and deliver nothing more; on any thread."""
        self._is_stopped = True

    def _build(self) -> None:
        self._timer = None
        if self._is_stopped:
            return
        self._is_building, self._stale = True, None
        began, future = monotonic(), run_in_worker(self._prepare())
        future.add_done_callback(lambda done: self._end(done.result(), monotonic() - began))

    def _end(self, outcome: Outcome, seconds: float) -> None:
        self._is_building = False
        form: Form = outcome.value or {}
        size = sum(len(text) for text in form.values() if isinstance(text, str))
        now = (self._clock or asyncio.get_running_loop()).time()
        self._next = now + seconds * COST_FACTOR + size / BYTES_PER_SECOND
        if form and not self._is_stopped:
            self._deliver(form)
        if self._stale is not None:
            self.renew(self._stale)
