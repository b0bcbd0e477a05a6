"""Thinking that a model writes into its text: `<think>…</think>` at the very start, and nowhere else.

Further on in a text the tag is prose (somebody writes about it), so it is left alone.
"""

from __future__ import annotations

from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

_LONGEST_INDENT = 256
"""Blank characters before the tag that are waited for."""


class ThinkTags:
    """Tells thinking from text while the text comes in; pieces are pairs of (is thinking, text).

    `is_settled` says that everything from here on is text and need not pass through any more.
    """

    def __init__(self) -> None:
        self.is_settled = False
        self._state: Literal["start", "inside", "behind"] = "start"
        self._held = ""

    @property
    def is_holding(self) -> bool:
        """Whether text is held back because it may be the beginning of a tag."""
        return bool(self._held)

    def settle(self) -> None:
        """Take everything from here on as text: the thinking came in a field of its own."""
        if self._state == "start":
            self.is_settled = True

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Take the next piece of text."""
        text, self._held = self._held + text, ""
        if self.is_settled:
            return [(False, text)]
        if self._state == "start":
            return self._start(text)
        return self._inside(text) if self._state == "inside" else self._behind(text)

    def flush(self) -> list[tuple[bool, str]]:
        """Give what was held back, because something else than text follows, or nothing."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []

    def _start(self, text: str) -> list[tuple[bool, str]]:
        head = text.lstrip()
        if head.startswith(OPENING):
            self._state = "inside"
            return self._inside(head[len(OPENING) :])
        if OPENING.startswith(head) and len(text) < _LONGEST_INDENT:
            self._held = text
            return []
        self.is_settled = True
        return [(False, text)]

    def _inside(self, text: str) -> list[tuple[bool, str]]:
        thought, closing, rest = text.partition(CLOSING)
        if closing:
            self._state = "behind"
            return [(True, thought), *self._behind(rest)] if thought else self._behind(rest)
        keep = _overlap(thought)
        self._held = thought[len(thought) - keep :]
        thought = thought[: len(thought) - keep]
        return [(True, thought)] if thought else []

    def _behind(self, text: str) -> list[tuple[bool, str]]:
        """Drop the blank lines between the thinking and the answer."""
        text = text.lstrip()
        if not text:
            return []
        self.is_settled = True
        return [(False, text)]


def _overlap(text: str) -> int:
    """How many characters at the end of a text may be the beginning of the closing tag."""
    at = text.rfind("<", -len(CLOSING) + 1 if len(text) >= len(CLOSING) else 0)
    return len(text) - at if at >= 0 and CLOSING.startswith(text[at:]) else 0
