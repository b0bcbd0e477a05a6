"""A parser for `<think>…</think>` at the start of a model's text.

Elsewhere in a text the tag may be quoted, so it is unchanged.
"""

from __future__ import annotations

from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

_LONGEST_INDENT = 256
"""Maximum number of blank characters before the tag."""


class ThinkTagParser:
    """Separates thinking from text in a stream; pieces are pairs of (is thinking, text).

    If `is_done`, everything further is text and need not be fed.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._state: Literal["start", "inside", "behind"] = "start"
        self._buffer = ""

    @property
    def is_holding(self) -> bool:
        """Whether text is buffered because it may be the start of a tag."""
        return bool(self._buffer)

    def stop(self) -> None:
        """Treat everything further as text: the thinking arrived in a separate field."""
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
        """Return the buffered pieces: something other than text follows, or nothing."""
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
        """Remove the blank lines between the thinking and the answer."""
        text = text.lstrip()
        if not text:
            return []
        self.is_done = True
        return [(False, text)]


def _overlap(text: str) -> int:
    """Return how many characters at the end of a text may be the start of the closing tag."""
    start = text.rfind("<", -len(CLOSING) + 1 if len(text) >= len(CLOSING) else 0)
    return len(text) - start if start >= 0 and CLOSING.startswith(text[start:]) else 0
