"""The progress line of a batch, overwritten in place, on interactive streams only."""

from __future__ import annotations

import sys
import time
from typing import TextIO

INTERVAL = 0.2
"""Minimum seconds between two updates."""


class ProgressLine:
    """Write progress to an interactive stream; nothing is written to a file or a pipe.

    The stream is stderr in a terminal and stdout in a notebook, where stderr has a red background.
    """

    def __init__(self, *, is_shown: bool) -> None:
        stream = sys.stdout if _is_notebook_stream(sys.stdout) else sys.stderr
        self._stream: TextIO | None = stream if is_shown and _is_interactive(stream) else None
        self._last = 0.0
        self._width = 0

    def show(self, text: str, *, is_last: bool = False) -> None:
        """Update the line, at most once per `INTERVAL`."""
        now = time.monotonic()
        if self._stream is None or (now - self._last < INTERVAL and not is_last):
            return
        self._last = now
        self._stream.write(f"\r{text:<{self._width}}{chr(10) if is_last else ''}")
        self._stream.flush()
        self._width = len(text)


def _is_interactive(stream: TextIO) -> bool:
    """Whether the stream is interactive: a terminal, or the output of a notebook's cell."""
    return stream.isatty() or _is_notebook_stream(stream)


def _is_notebook_stream(stream: TextIO) -> bool:
    return type(stream).__module__.startswith("ipykernel")
