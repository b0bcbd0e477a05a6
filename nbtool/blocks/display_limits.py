"""Limits of what is shown and saved: every limit has a number, and truncation leaves a marker."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from nbtool.text import left_out

FIELD_LIMIT = 64 * 1024
"""Bytes of UTF-8 shown of one text of a call: its arguments, its progress, its result."""

PROSE_LIMIT = 1024 * 1024
"""Bytes of UTF-8 shown of one block of prose."""

NOTICE_LIMIT = 4 * 1024
"""Bytes of UTF-8 shown of one notice or error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in bytes of UTF-8: for one text of a call, one block of prose, one notice or error."""

    field: int = FIELD_LIMIT
    prose: int = PROSE_LIMIT
    notice: int = NOTICE_LIMIT


DISPLAY_LIMITS = Limits()
NO_LIMITS = Limits(sys.maxsize, sys.maxsize, sys.maxsize)
"""For a complete rendering on request."""


class BoundedText:
    """A growing text that keeps up to a limit in bytes of UTF-8 and counts the omitted characters."""

    __slots__ = ("_limit", "_pieces", "_size", "omitted")

    def __init__(self, limit: int, text: str = "") -> None:
        self._limit = limit
        self._pieces: list[str] = []
        self._size = 0
        self.omitted = 0
        self.add(text)

    def add(self, text: str) -> str:
        """Add a piece and return the part of it that is still shown."""
        if self.omitted:
            self.omitted += len(text)
            return ""
        data = text.encode()
        if self._size + len(data) > self._limit:
            visible = data[: self._limit - self._size].decode(errors="ignore")
            self.omitted = len(text) - len(visible)
            data, text = visible.encode(), visible
        self._size += len(data)
        if text:
            self._pieces.append(text)
        return text

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


def truncate(text: str, limit: int) -> tuple[str, int]:
    """Truncate a text to `limit` bytes of UTF-8; return it and the number of omitted characters."""
    bounded = BoundedText(limit, text)
    return str(bounded), bounded.omitted


def omitted_marker(omitted: int) -> str:
    """Return the marker for omitted text."""
    return left_out(omitted)
