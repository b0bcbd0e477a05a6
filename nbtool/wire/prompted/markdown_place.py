"""Where in the Markdown of a reply a text is, and whether a mark starts a call there."""

from __future__ import annotations

import re
from typing import Literal

_PLACE_TOKENS = ("```", "<think>", "</think>", "<tool_result", "<tool_response>")
_PLACE_PATTERN = re.compile("|".join(map(re.escape, _PLACE_TOKENS)))


class MarkdownPlace:
    """A place in the Markdown of a reply: whether a mark starts a call there, or is quoted."""

    def __init__(self) -> None:
        self._is_blank_line = True
        self._last_character = ""
        self._has_text = False
        self._fence: Literal["", "open", "quoted"] = ""
        self._is_thinking = False
        self._has_invented_result = False

    @property
    def allows_call(self) -> bool:
        """Whether a mark counts: not in thinking, a fence after prose, inline code, or after an invented result."""
        return (
            not self._is_thinking
            and not self._has_invented_result
            and self._fence != "quoted"
            and self._last_character != "`"
        )

    def move(self, text: str) -> None:
        """Move the place behind a text."""
        position = 0
        for token in _PLACE_PATTERN.finditer(text):
            self.move_behind_block(text[position : token.start()])
            self._pass_token(token[0])
            position = token.end()
        self.move_behind_block(text[position:])

    def move_behind_block(self, source: str) -> None:
        """Move the place behind a block, in which no mark counts."""
        if not source:
            return
        is_blank = not source[source.rfind("\n") + 1 :].strip()
        self._is_blank_line = is_blank if "\n" in source else self._is_blank_line and is_blank
        self._last_character = source[-1]
        self._has_text = self._has_text or (not self._is_thinking and bool(source.strip()))

    def _pass_token(self, token: str) -> None:
        if token == "```" and self._is_blank_line and not self._is_thinking:
            self._fence = "" if self._fence else "quoted" if self._has_text else "open"
            self._is_blank_line, self._last_character = False, ""
        elif token in ("<think>", "</think>"):
            self._is_thinking = token == "<think>" and not self._has_text
            self._is_blank_line, self._last_character = False, ">"
        else:
            self._has_invented_result |= token in ("<tool_result", "<tool_response>") and self.allows_call
            self.move_behind_block(token)
