"""Thinking that a model writes into its text: `<think>…</think>` at the very start, and nowhere else.

Further on in a text the tag is prose (somebody writes about it), so it is left alone.
"""

from __future__ import annotations

from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

_LONGEST_INDENT = 256
"""Blank characters before the tag that are waited for."""


class ThinkTagParser:
    """Tells thinking from text while the text comes in; pieces are pairs of (is thinking, text).

    `is_done` says that everything from here on is text and need not pass through any more.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._state: Literal["start", "inside", "behind"] = "start"
        self._buffer = ""

    @property
    def is_holding(self) -> bool:
        """Whether text is held back because it may be the beginning of a tag."""
        return bool(self._buffer)

    def stop(self) -> None:
        """Take everything from here on as text: the thinking came in a field of its own."""
        if self._state == "start":
            self.is_done = True

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Feed the next piece of text."""
        text, self._buffer = self._buffer + text, ""
        if self.is_done:
            return [(False, text)]
        if self._state == "start":
            return self._start(text)
        return self._in_thinking(text) if self._state == "inside" else self._after_tag(text)

    def flush(self) -> list[tuple[bool, str]]:
        """Return what was held back, because something else than text follows, or nothing."""
        text, self._buffer = self._buffer, ""
        return [(self._state == "inside", text)] if text else []

    def _start(self, text: str) -> list[tuple[bool, str]]:
        head = text.lstrip()
        if head.startswith(OPENING):
            self._state = "inside"
            return self._in_thinking(head[len(OPENING) :])
        if OPENING.startswith(head) and len(text) < _LONGEST_INDENT:
            self._buffer = text
            return []
        self.is_done = True
        return [(False, text)]

    def _in_thinking(self, text: str) -> list[tuple[bool, str]]:
        thinking, closing, rest = text.partition(CLOSING)
        if closing:
            self._state = "behind"
            return [(True, thinking), *self._after_tag(rest)] if thinking else self._after_tag(rest)
        tail_size = _overlap(thinking)
        self._buffer = thinking[len(thinking) - tail_size :]
        thinking = thinking[: len(thinking) - tail_size]
        return [(True, thinking)] if thinking else []

    def _after_tag(self, text: str) -> list[tuple[bool, str]]:
        """Drop the blank lines between the thinking and the answer."""
        text = text.lstrip()
        if not text:
            return []
        self.is_done = True
        return [(False, text)]


def _overlap(text: str) -> int:
    """How many characters at the end of a text may be the beginning of the closing tag."""
    start = text.rfind("<", -len(CLOSING) + 1 if len(text) >= len(CLOSING) else 0)
    return len(text) - start if start >= 0 and CLOSING.startswith(text[start:]) else 0
