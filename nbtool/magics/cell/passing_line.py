"""A line below the output of the running cell that can be cleared, so that the saved notebook does not keep it."""

from __future__ import annotations

from typing import Any

from IPython.display import DisplayHandle

CLEARED = {"text/plain": ""}


class PassingLine:
    """A line that holds for a moment: an output of its own, since printed text cannot be taken back."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_shown = False
        self._handle: Any = DisplayHandle()  # type: ignore[no-untyped-call]  # IPython ships no types for it

    def show(self) -> None:
        """Display the line in the running cell; on its thread."""
        self._is_shown = True  # before it is sent: an interrupt may end this call right after
        self._handle.display({"text/plain": self._text}, raw=True)

    def clear(self) -> None:
        """Replace the line by nothing, from any thread; without effect if it was never shown."""
        if self._is_shown:
            self._handle.update(CLEARED, raw=True)
