"""The buffer of one delimited call while it is streamed."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from nbtool.wire.prompted.model_formats import Delimiter

MAX_CALL_CHARS = 1024 * 1024
"""Characters of one call; a longer one is released as text."""

_VISIBLE = re.compile(r"\S")

Ending = Literal["", "closer", "opener", "long"]


class CallBuffer:
    """Collects a call until its closing mark, another opening mark, or the limit of characters.

    A mark inside a string of the call's JSON does not end it, unless the block is `ignore_strings`; `quoted_closer` is
    then the position of the first such mark in the body, in case it was not inside a string.
    """

    def __init__(self, delimiter: Delimiter, *, ignore_strings: bool = False) -> None:
        self.delimiter = delimiter
        self.size = 0
        self.quoted_closer: int | None = None
        self._texts: list[str] = []
        self._quote = ""
        self._tracks_strings: bool | None = False if ignore_strings else None
        self._pattern = _token_pattern(delimiter)
        self._lookahead = max(len(delimiter.opener), len(delimiter.closer)) - 1

    @property
    def body(self) -> str:
        """Return the text after the opening mark so far."""
        return "".join(self._texts)

    def feed(self, text: str, start: int, *, final: bool) -> tuple[int, Ending]:
        """Consume `text` from `start` as far as possible; return the position after it, and how the call ended."""
        end = min(len(text) if final else max(start, len(text) - self._lookahead), start + MAX_CALL_CHARS - self.size)
        self._detect_strings(text, start)
        position = start
        for match in self._pattern.finditer(text, start):
            if match.start() >= end:
                break
            ending = self._on_token(match[0], self.size + match.start() - start)
            position = match.end()
            if ending:
                self._append(text[start : match.start()])
                return position, ending
        position = max(position, end)
        self._append(text[start:position])
        return position, "long" if self.size >= MAX_CALL_CHARS else ""

    def _detect_strings(self, text: str, position: int) -> None:
        """Decide by the first character whether the body has strings that may contain a mark."""
        if self._tracks_strings is None and (match := _VISIBLE.search(text, position)):
            self._tracks_strings = match[0] in "{[`"

    def _on_token(self, token: str, position: int) -> Ending:
        if token in ('"', "'"):
            if self._tracks_strings and self._quote in ("", token):
                self._quote = "" if self._quote else token
        elif token[0] != "\\":
            if not self._quote:
                return "closer" if token == self.delimiter.closer else "opener"
            if token == self.delimiter.closer and self.quoted_closer is None:
                self.quoted_closer = position
        return ""

    def _append(self, text: str) -> None:
        self._texts.append(text)
        self.size += len(text)


@cache
def _token_pattern(delimiter: Delimiter) -> re.Pattern[str]:
    tokens = sorted(filter(None, {delimiter.opener, delimiter.closer}), key=len, reverse=True)
    return re.compile("|".join([r"\\.", "[\"']", *map(re.escape, tokens)]), re.DOTALL)
