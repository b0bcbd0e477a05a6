"""One call between marks while it is being written."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from nbtool.wire.prompted.delimiters import Mark

MAX_HELD = 1024 * 1024
"""Characters of one call; a longer one is released as text."""

_VISIBLE = re.compile(r"\S")

Ending = Literal["", "closer", "opener", "long"]


class Block:
    """Collects a call until its closing mark, its opening mark again, or too many characters.

    A mark inside a string of the call's JSON does not end it, unless the block is `plain`; `first_closer` is then
    where in the body the first such mark stood, for the case that the string was no string after all.
    """

    def __init__(self, mark: Mark, *, plain: bool = False) -> None:
        self.mark = mark
        self.size = 0
        self.first_closer: int | None = None
        self._pieces: list[str] = []
        self._quote = ""
        self._tracked: bool | None = False if plain else None
        self._form = _form(mark)
        self._reach = max(len(mark.opener), len(mark.closer)) - 1

    @property
    def body(self) -> str:
        """What stood behind the opener so far."""
        return "".join(self._pieces)

    def read(self, text: str, at: int, *, final: bool) -> tuple[int, Ending]:
        """Take `text` from `at` on, as far as it can be judged; give the position behind it, and how it ended."""
        end = min(len(text) if final else max(at, len(text) - self._reach), at + MAX_HELD - self.size)
        self._look(text, at)
        done = at
        for found in self._form.finditer(text, at):
            if found.start() >= end:
                break
            ending = self._meet(found[0], self.size + found.start() - at)
            done = found.end()
            if ending:
                self._take(text[at : found.start()])
                return done, ending
        done = max(done, end)
        self._take(text[at:done])
        return done, "long" if self.size >= MAX_HELD else ""

    def _look(self, text: str, at: int) -> None:
        """Decide by its first character whether the body has strings that may hold a mark."""
        if self._tracked is None and (start := _VISIBLE.search(text, at)):
            self._tracked = start[0] in "{[`"

    def _meet(self, token: str, position: int) -> Ending:
        if token in ('"', "'"):
            if self._tracked and self._quote in ("", token):
                self._quote = "" if self._quote else token
        elif token[0] != "\\":
            if not self._quote:
                return "closer" if token == self.mark.closer else "opener"
            if token == self.mark.closer and self.first_closer is None:
                self.first_closer = position
        return ""

    def _take(self, text: str) -> None:
        self._pieces.append(text)
        self.size += len(text)


@cache
def _form(mark: Mark) -> re.Pattern[str]:
    ends = sorted(filter(None, {mark.opener, mark.closer}), key=len, reverse=True)
    return re.compile("|".join([r"\\.", "[\"']", *map(re.escape, ends)]), re.DOTALL)
