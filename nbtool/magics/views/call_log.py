"""The outputs below the cell that serves, with the calls of clients in order of time, the newest last.

The outputs are displayed once, because a page adds none to a cell that has ended. When all of them are used, the oldest
calls give up theirs, the others move up, and a line above them says how many are left out and what lists them.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from IPython.display import display

from nbtool.magics.notebook.inserted_cell import CellSource

MAX_SHOWN = 20
"""Number of calls that are shown; a page of JupyterLab shows 50 outputs of a cell and hides further ones."""

DROPPED_AT_ONCE = 4
"""Number of the oldest calls that are no longer shown when there is no room, so that the others seldom move."""

NOT_SHOWN = "{count:,} earlier {calls} not shown here: {commands}"
MOVED = {"text/plain": "The calls are shown below a later `%chat serve`."}
EMPTY = {"text/plain": ""}


class CallPlace:
    """The output of one call; it has the interface of a display handle, and follows the call when it moves."""

    def __init__(self, cells: CellSource, handle: Any, lock: threading.RLock) -> None:
        self.cells, self.has_ended = cells, False
        self._handle, self._lock = handle, lock
        self._shown: tuple[dict[str, Any], dict[str, Any] | None] = (EMPTY, None)

    def update(self, data: dict[str, Any], *, raw: bool, metadata: dict[str, Any] | None = None) -> None:
        """Replace what is shown; without effect once the call has no output any more."""
        with self._lock:
            if self._handle is not None:
                self._shown = (data, metadata)
                self._handle.update(data, raw=raw, metadata=metadata)

    def move(self, handle: Any) -> None:
        """Show the call in another output; None gives its output up."""
        if handle is self._handle:
            return
        (data, metadata), self._handle = self._shown, handle
        if handle is None:
            self._shown = (EMPTY, None)
        else:
            handle.update(data, raw=True, metadata=metadata)


class CallLog:
    """Gives each call an output below those of the calls before it; `MAX_SHOWN` are shown."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # held while an output changes: calls begin and end on several threads
        self._note: Any = None
        self._handles: list[Any] = []
        self._places: list[CallPlace] = []
        self._dropped: Counter[CellSource] = Counter()

    def open(self) -> None:
        """Display the outputs, below what the running cell has printed."""
        self._note = empty_place()
        self._handles = [empty_place() for _ in range(MAX_SHOWN)]

    def reopen(self) -> None:
        """Display further outputs, below what the running cell has printed, and move all calls there."""
        with self._lock:
            note, handles = self._note, self._handles
            self.open()
            self._handles += [empty_place() for _ in range(len(self._places) - len(self._handles))]
            if self._dropped:
                self._note.update({"text/plain": _describe_dropped(self._dropped)}, raw=True)
            for place, handle in zip(self._places, self._handles, strict=False):
                place.move(handle)
            for handle in handles:
                handle.update(EMPTY, raw=True)
            note.update(MOVED, raw=True)

    def add(self, cells: CellSource) -> CallPlace:
        """Return the place of a call that is about to start, in the chat that `cells` names."""
        with self._lock:
            if len(self._places) >= len(self._handles):
                self._make_room()
            place = CallPlace(cells, self._handles[len(self._places)], self._lock)
            self._places.append(place)
            return place

    def _make_room(self) -> None:
        """Drop the oldest calls that have ended; where none has, display a further output."""
        dropped = [place for place in self._places if place.has_ended][:DROPPED_AT_ONCE]
        if not dropped:
            self._handles.append(empty_place())
            return
        self._dropped.update(place.cells for place in dropped)
        self._note.update({"text/plain": _describe_dropped(self._dropped)}, raw=True)
        for place in dropped:
            place.move(None)
        self._places = [place for place in self._places if place not in dropped]
        for place, handle in zip(self._places, self._handles, strict=False):
            place.move(handle)
        for handle in self._handles[len(self._places) :]:
            handle.update(EMPTY, raw=True)


def empty_place() -> Any:
    """Display an empty output in the running cell and return its handle."""
    return display(EMPTY, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it


def _describe_dropped(dropped: Counter[CellSource]) -> str:
    """Return the line about calls that are no longer shown, with the commands that list all calls of their clients."""
    count = dropped.total()
    commands = [
        f"`{cells.line('history')}`{f' ({number:,})' if len(dropped) > 1 else ''}" for cells, number in dropped.items()
    ]
    return NOT_SHOWN.format(count=count, calls="call is" if count == 1 else "calls are", commands=", ".join(commands))
