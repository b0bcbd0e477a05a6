"""Recognizes the cells of nbtool's own magics, which are no context and cannot run inside one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nbtool.text import SPACES

MISPLACED = "%%"
"""The line of the line magic that stands for a cell with the cell magic below other lines; no command begins so."""


class CellText(NamedTuple):
    """What follows the name of a cell magic in its line, and the lines below."""

    line: str
    body: str


@dataclass(frozen=True, slots=True)
class OwnMagic:
    """The magics of one name."""

    magic: str = "chat"

    def matches(self, source: str) -> bool:
        """Return whether a cell begins with the magic, of lines or of cells; of cells also below comments."""
        lines = source.strip(SPACES).splitlines()
        at = _first_code(lines)
        return at is not None and (self._begins(lines[at], "%%") or (at == 0 and self._begins(lines[0], "%")))

    def split(self, lines: Sequence[str]) -> CellText | None:
        """Split a cell whose first line but for comments is the cell magic; None for any other cell.

        An indented magic is none: IPython first removes the indentation that all lines of a cell share.
        """
        at = self.line_of(lines)
        if at is None or lines[at][:1].isspace():
            return None
        return CellText(self.rest_of(lines[at], "%%") or "", "".join(lines[at + 1 :]))

    def line_of(self, lines: Sequence[str]) -> int | None:
        """Return the index of the line of the cell magic; None for a cell without it."""
        at = _first_code(lines)
        return at if at is not None and self.rest_of(lines[at], "%%") is not None else None

    def rest_of(self, line: str, marks: str) -> str | None:
        """Return what follows the name of the magic in a line; None for another line, and for `%chat?`."""
        start = f"{marks}{self.magic}"
        line = line.strip(SPACES)
        is_own = line.startswith(start) and line[len(start) :][:1] in SPACES
        return line[len(start) :].strip(SPACES) if is_own else None

    def _begins(self, line: str, marks: str) -> bool:
        start, line = f"{marks}{self.magic}", line.strip(SPACES)
        after = line[len(start) :][:1]
        return line.startswith(start) and not (after and f"_{after}".isidentifier())


def _first_code(lines: Sequence[str]) -> int | None:
    """Return the index of the first line that is neither empty nor a comment; these may stand above a cell magic.

    `#@title` of Colab is one, and `# %%` of editors.
    """
    return next((at for at, line in enumerate(lines) if (text := line.strip(SPACES)) and text[0] != "#"), None)
