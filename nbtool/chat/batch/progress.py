"""A line that says how far many prompts are: written over itself, where a person is looking."""

from __future__ import annotations

import sys
import time
from typing import TextIO

INTERVAL = 0.2
"""Seconds between two writings."""


class ProgressLine:
    """Writes where whoever began sees it, and to a file or a pipe nothing.

    In a terminal that is the error stream. Under a cell it is the output: a notebook shows errors on red.
    """

    def __init__(self, *, is_shown: bool) -> None:
        stream = sys.stdout if _is_notebook_stream(sys.stdout) else sys.stderr
        self._stream: TextIO | None = stream if is_shown and _is_interactive(stream) else None
        self._last = 0.0
        self._width = 0

    def show(self, text: str, *, is_last: bool = False) -> None:
        """Write the line anew, unless it was written a moment ago."""
        now = time.monotonic()
        if self._stream is None or (now - self._last < INTERVAL and not is_last):
            return
        self._last = now
        self._stream.write(f"\r{text:<{self._width}}{chr(10) if is_last else ''}")
        self._stream.flush()
        self._width = len(text)


def _is_interactive(stream: TextIO) -> bool:
    """Whether a person sees the stream at once: a terminal, or the output of a notebook's cell."""
    return stream.isatty() or _is_notebook_stream(stream)


def _is_notebook_stream(stream: TextIO) -> bool:
    return type(stream).__module__.startswith("ipykernel")
