"""Reads the cells and lines of nbtool's own magics before IPython does, which would read their text as Python.

IPython takes a line that ends with a question mark for a request for help, removes prompts such as `>>>` from every
line of a cell, and finds a cell magic only in the first line, before an ordinary space.
"""

from __future__ import annotations

import tokenize
from typing import Any, ClassVar, Self

from IPython.core.inputtransformer2 import TokenTransformBase, assemble_continued_line, find_end_of_continued_line

from nbtool.magics.notebook.own_magic import MISPLACED, OwnMagic

_BEFORE_A_LINE = frozenset({tokenize.INDENT, tokenize.DEDENT})


class OwnLine(TokenTransformBase):
    """A line of the line magic, anywhere in a cell; and the cell magic below other lines, which is an error."""

    own: ClassVar[OwnMagic]
    priority = 1  # before the request for help in the same line, which has 5

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> Self | None:
        """Find the first such line; texts of several lines and comments have none."""
        for tokens in tokens_by_line:
            first = next((token for token in tokens if token.type not in _BEFORE_A_LINE), None)
            if first and first.string == "%":
                text = first.line[first.start[1] :]
                if any(cls.own.rest_of(text, marks) is not None for marks in ("%", "%%")):
                    return cls(first.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Return the lines with the call of the magic; where a cell magic is not in its place, nothing else runs."""
        end = find_end_of_continued_line(lines, self.start_line)
        text = assemble_continued_line(lines, (self.start_line, self.start_col), end)
        rest = self.own.rest_of(text, "%")
        call = f"get_ipython().run_line_magic({self.own.magic!r}, {(MISPLACED if rest is None else rest)!r})\n"
        if rest is None:
            return [call]
        indent = lines[self.start_line][: self.start_col]
        return [*lines[: self.start_line], f"{indent}{call}", *lines[end + 1 :]]


class OwnInput:
    """What IPython calls to read the cells of the magics of one name."""

    def __init__(self, magic: str) -> None:
        self._own = OwnMagic(magic)
        self._line = type("OwnLine", (OwnLine,), {"own": self._own})

    def install(self, shell: Any) -> None:
        """Read each cell first, before IPython changes it, and once more where it had an indentation or prompts."""
        manager = shell.input_transformer_manager
        manager.cleanup_transforms.insert(0, self.read_cell)
        manager.cleanup_transforms.append(self.read_cell)
        manager.token_transformers.append(self._line)

    def remove(self, shell: Any) -> None:
        """Leave nothing behind."""
        manager = shell.input_transformer_manager
        for _ in range(2):
            manager.cleanup_transforms.remove(self.read_cell)
        manager.token_transformers.remove(self._line)

    def read_cell(self, lines: list[str]) -> list[str]:
        """Return the call of the cell magic, with the text below it as it is; any other cell unchanged."""
        cell = self._own.split(lines)
        if cell is None:
            return lines
        arguments = (self._own.magic, cell.line, cell.body or "\n")  # IPython refuses an empty body
        return [f"get_ipython().run_cell_magic({', '.join(map(repr, arguments))})\n"]

    # A terminal asks the other transformers whether a cell is complete: the first line of one is not.
    read_cell.has_side_effects = True  # type: ignore[attr-defined]  # IPython reads it from the function
