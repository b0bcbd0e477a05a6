"""Cells of the notebook as a part of a prompt: sources, outputs and errors, within bounds.

They come from the page (`page_cells.py`) or from IPython (`history_cells.py`), only on request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nbtool.text import count_of
from nbtool.tools.values.sanitize import excerpt, mask_text

MAX_CHARACTERS = 24_000
"""Maximum characters of all cells that a prompt contains, some 6,000 tokens; the latest cells come first."""

MAX_SOURCE = 8_000
"""Maximum characters of the source of one cell."""

MAX_OUTPUT = 2_000
"""Maximum characters of the outputs of one cell, and of its error."""

HEADINGS = {
    "page": "Cells of the notebook, in its order:",
    "history": "Cells of the notebook, in the order in which they ran:",
}
ORIGINS = {"page": "the page's notebook", "history": "IPython's history"}
EDITED = "The user has edited [{number}] since; it has not run as it is now:"
OMITTED = "[{count} {cells} left out: together they exceed {limit:,} characters.]"
CHARACTERS_PER_TOKEN = 4
"""An estimate, for what is said about the size."""

_INSTALLED = re.compile(r"(File \"?)\S*?[/\\](?:site|dist)-packages[/\\]")
"""The folder of an installed package in a traceback, which is this machine's own and tells a model nothing."""

Origin = Literal["page", "history"]


@dataclass(frozen=True, slots=True)
class ContextCell:
    """A cell: the number of its run, its source, its outputs as texts, and the error in which it ended.

    A cell that did not run has no number. `language` is that of its source, and `edited` what the source is now, if
    the person has edited it since it ran.
    """

    number: int | None
    source: str
    outputs: tuple[str, ...] = ()
    error: str = ""
    language: str = "python"
    edited: str = ""

    def format(self) -> str:
        """Return the cell as Markdown, in fences that its text cannot close; of a long error the end is kept.

        The paths of installed packages begin with the package.
        """
        number = " " if self.number is None else self.number
        title = f"In [{number}]:" if self.language == "python" else f"{self.language.title()}:"
        texts = [(title, self.language, _first(self.source, MAX_SOURCE))]
        if self.outputs:
            texts.append((f"Out [{number}]:", "", _first("\n".join(self.outputs), MAX_OUTPUT)))
        if self.error:
            texts.append((f"Error of [{number}]:", "", _last(_INSTALLED.sub(r"\1", self.error), MAX_OUTPUT)))
        if self.edited:
            texts.append((EDITED.format(number=number), self.language, _first(self.edited, MAX_SOURCE)))
        return "\n\n".join(f"{title}\n{_fenced(text, language)}" for title, language, text in texts)


@dataclass(frozen=True, slots=True)
class CellContext:
    """The cells that a prompt contains: as a part of it, how many, how many were left out, and where they come from."""

    text: str
    count: int
    omitted: int = 0
    origin: Origin = "history"

    def describe(self) -> str:
        """Return one line: how many cells, from where, and about how many tokens."""
        if not self.count:
            return f"no cells: {ORIGINS[self.origin]} has none of these"
        left = f"; {self.omitted} left out" if self.omitted else ""
        tokens = max(1, len(self.text) // CHARACTERS_PER_TOKEN)
        cells = count_of(self.count, "cell")
        return f"{cells} from {ORIGINS[self.origin]}, about {count_of(tokens, 'token')}{left}"


def cell_context(
    cells: Sequence[ContextCell], origin: Origin = "history", distances: Sequence[int] | None = None
) -> CellContext:
    """Return cells as a part of a prompt: as many of the nearest as fit, and how many were left out.

    The nearest are the last ones, unless there are `distances`.
    """
    near = distances or range(len(cells), 0, -1)
    chosen: dict[int, str] = {}
    left = MAX_CHARACTERS
    for at in sorted(range(len(cells)), key=lambda at: near[at]):
        text = cells[at].format()
        left -= len(text)
        if left < 0 and chosen:
            break
        chosen[at] = text
    texts = [chosen[at] for at in sorted(chosen)]
    if omitted := len(cells) - len(texts):
        noun = "cell is" if omitted == 1 else "cells are"
        texts.insert(0, OMITTED.format(count=omitted, cells=noun, limit=MAX_CHARACTERS))
    text = "\n\n".join([HEADINGS[origin], *texts]) if chosen else ""
    return CellContext(text, len(chosen), omitted, origin)


def _first(text: str, limit: int) -> str:
    """Return the beginning of a text and how much is left out; no part of a private value is left of it."""
    size = len(mask_text(text))
    return text if size <= limit else f"{excerpt(text, 0, limit)}\n[… {count_of(size - limit, 'more character')}]"


def _last(text: str, limit: int) -> str:
    """Return the end of a text and how much is left out before it."""
    size = len(mask_text(text))
    return text if size <= limit else f"[{count_of(size - limit, 'character')} left out]\n{excerpt(text, size - limit)}"


def _fenced(text: str, language: str) -> str:
    """Return a text in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
