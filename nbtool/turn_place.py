"""Where a turn is on the pages of its notebook: a state machine of what the pages report, without drawing.

A page reports that it has the widget of a turn (`present`) before it draws it: VS Code draws an output only when it
comes into view. It then reports that a view was drawn (`hello`), and that its last view was removed (`gone`), because
the output was cleared, or its cell was deleted or moved.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from typing import Literal, get_args

PlaceState = Literal["not_drawn", "present", "seen", "gone"]
"""No page has the turn; a page has it and has not drawn it; a page shows it; a page showed it and does no longer."""

Report = Literal["present", "hello", "gone"]
"""What a page says of its views."""

REPORTS: frozenset[str] = frozenset(get_args(Report))

TRANSITIONS: dict[Report, dict[PlaceState, PlaceState]] = {
    "present": {"not_drawn": "present"},
    "hello": {"not_drawn": "seen", "present": "seen", "gone": "seen"},
    "gone": {"not_drawn": "gone", "present": "gone", "seen": "gone"},
}
"""The next state of a page; what is not listed changes nothing."""

REMOVED_SECONDS = 1.5
"""Seconds before a turn whose view was removed is shown again: a cell that moves is drawn again at once."""

_BEST_FIRST: tuple[PlaceState, ...] = ("seen", "present", "gone", "not_drawn")


class TurnPlace:
    """The pages that show a turn, or could; reports come on any thread."""

    def __init__(self) -> None:
        self._pages: dict[str, PlaceState] = {}
        self._listeners: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self.was_gone = False
        self.drawn_views = 0

    @property
    def state(self) -> PlaceState:
        """The best of all pages: a turn that one page shows is seen, whatever another one reports."""
        with self._lock:
            states = set(self._pages.values())
        return next((state for state in _BEST_FIRST if state in states), "not_drawn")

    def report(self, page: str, report: Report) -> None:
        """Note what a page says of its views."""
        with self._lock:
            before = self._pages.get(page, "not_drawn")
            after = self._pages[page] = TRANSITIONS[report].get(before, before)
            self.was_gone = self.was_gone or after == "gone"
            self.drawn_views += report == "hello"
            listeners = tuple(self._listeners) if after != before else ()
        for listener in listeners:
            listener()

    async def wait_for(self, states: Collection[PlaceState], seconds: float | None) -> bool:
        """Wait on a loop until the state is one of these, for so many seconds at most; return whether it is."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        with self._lock:
            self._listeners.append(wake)
        try:
            async with asyncio.timeout(seconds):
                while self.state not in states:
                    changed.clear()
                    if self.state in states:  # it changed meanwhile
                        break
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._listeners.remove(wake)
        return self.state in states
