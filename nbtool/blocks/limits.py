"""How much is shown, and how much is saved: every bound has a number and leaves a mark where it cut."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from nbtool.shorten import left_out

FIELD_LIMIT = 64 * 1024
"""Bytes of UTF-8 shown of one text of a call: its arguments, its progress, its result."""

PROSE_LIMIT = 1024 * 1024
"""Bytes of UTF-8 shown of one block of prose."""

NOTICE_LIMIT = 4 * 1024
"""Bytes of UTF-8 shown of one notice or error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many bytes of UTF-8 are shown: of one text of a call, of one block of prose, of one notice or error."""

    field: int = FIELD_LIMIT
    prose: int = PROSE_LIMIT
    notice: int = NOTICE_LIMIT


DISPLAY_LIMITS = Limits()
NO_LIMITS = Limits(sys.maxsize, sys.maxsize, sys.maxsize)
"""For a person who asks for all of a turn."""


class BoundedText:
    """A text that grows up to a limit in bytes of UTF-8 and counts the characters it had to leave out."""

    __slots__ = ("_limit", "_pieces", "_size", "omitted")

    def __init__(self, limit: int, text: str = "") -> None:
        self._limit = limit
        self._pieces: list[str] = []
        self._size = 0
        self.omitted = 0
        self.add(text)

    def add(self, text: str) -> str:
        """Take the next piece and give what of it is still shown."""
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
    """Cut a text at `limit` bytes of UTF-8; gives what is left and how many characters were left out."""
    bounded = BoundedText(limit, text)
    return str(bounded), bounded.omitted


def omitted_marker(omitted: int) -> str:
    """Write the mark that stands where a text was cut."""
    return left_out(omitted)
