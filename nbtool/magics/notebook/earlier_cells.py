"""The notebook's cells as context of a prompt: sources, outputs and errors, from IPython's history, only on request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbtool.errors import BadUsage
from nbtool.text import shorten
from nbtool.tools.values.excerpt import excerpt, mask_text
from nbtool.tools.values.sanitize import strip_controls

MAX_CHARACTERS = 24_000
"""Maximum characters of all cells that a prompt contains, some 6,000 tokens; the latest cells come first."""

MAX_SOURCE = 8_000
"""Maximum characters of the source of one cell."""

MAX_OUTPUT = 2_000
"""Maximum characters of the outputs of one cell, and of its error."""

HEADING = "Cells of the notebook, in the order in which they ran:"
OMITTED = "[{count} earlier {cells} left out: together they exceed {limit:,} characters.]"

_RANGE = re.compile(r"(\d*):(\d*)")


@dataclass(frozen=True, slots=True)
class EarlierCell:
    """A cell that ran: its number, its source, its outputs as texts, and the error in which it ended."""

    number: int
    source: str
    outputs: tuple[str, ...] = ()
    error: str = ""

    def format(self) -> str:
        """Return the cell as Markdown, in fences that its text cannot close; of a long error the end is kept."""
        texts = [(f"In [{self.number}]:", "python", _first(self.source, MAX_SOURCE))]
        if self.outputs:
            texts.append((f"Out [{self.number}]:", "", _first("\n".join(self.outputs), MAX_OUTPUT)))
        if self.error:
            texts.append((f"Error of [{self.number}]:", "", _last(self.error, MAX_OUTPUT)))
        return "\n\n".join(f"{title}\n{_fenced(text, language)}" for title, language, text in texts)


@dataclass(frozen=True, slots=True)
class EarlierCells:
    """The cells that ran in this kernel, without those of nbtool's own magics.

    Outputs and errors come from IPython 9 and newer; earlier ones keep the value of a cell's last line only.
    """

    shell: Any
    magic: str = "chat"
    _own: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own", re.compile(rf"\s*%{{1,2}}{re.escape(self.magic)}\b"))

    def select(self, words: str) -> list[EarlierCell]:
        """Return the cells that `--cells` names: `above` or `all`, the last `N`, or `A:B` by their numbers.

        Raises:
            BadUsage: the words name no cells.
        """
        cells = list(self)
        if words in ("above", "all"):
            return cells
        if words.isdecimal() and int(words):
            return cells[-int(words) :]
        if bounds := _RANGE.fullmatch(words):
            first, last = int(bounds[1] or 1), int(bounds[2] or 10**9)
            if chosen := [cell for cell in cells if first <= cell.number <= last]:
                return chosen
            numbers = f"from {cells[0].number} to {cells[-1].number}" if cells else "none"
            raise BadUsage(f"--cells {words}: no cell has such a number.", fix=f"The cells that ran here: {numbers}.")
        raise BadUsage(
            f"--cells {shorten(words, 40)} names no cells.",
            fix="`--cells above`, `--cells 3` (the last three), `--cells 2:5`.",
        )

    def last_error(self) -> EarlierCell | None:
        """Return the cell that failed last; None if none did."""
        return next((cell for cell in reversed(list(self)) if cell.error), None)

    def last(self) -> EarlierCell | None:
        """Return the cell that ran last; None if none did."""
        return next(reversed(list(self)), None)

    def __iter__(self) -> Iterator[EarlierCell]:
        """Yield the cells, oldest first."""
        history = self.shell.history_manager
        sources = history.input_hist_raw
        running = self.shell.execution_count
        for number, source in enumerate(sources):
            if source.strip() and number < running and not self._own.match(source):
                yield EarlierCell(number, source.strip(), tuple(_outputs(history, number)), _error(history, number))


def format_cells(cells: list[EarlierCell]) -> str:
    """Return cells as a part of a prompt: as many of the latest as fit, and how many were left out."""
    texts: list[str] = []
    left = MAX_CHARACTERS
    for cell in reversed(cells):
        text = cell.format()
        left -= len(text)
        if left < 0 and texts:
            break
        texts.insert(0, text)
    if omitted := len(cells) - len(texts):
        noun = "cell is" if omitted == 1 else "cells are"
        texts.insert(0, OMITTED.format(count=omitted, cells=noun, limit=MAX_CHARACTERS))
    return "\n\n".join([HEADING, *texts]) if texts else ""


def _first(text: str, limit: int) -> str:
    """Return the beginning of a text and how much is left out; no part of a private value is left of it."""
    size = len(mask_text(text))
    return text if size <= limit else f"{excerpt(text, 0, limit)}\n[… {size - limit:,} more characters]"


def _last(text: str, limit: int) -> str:
    """Return the end of a text and how much is left out before it."""
    size = len(mask_text(text))
    return text if size <= limit else f"[{size - limit:,} characters left out]\n{excerpt(text, size - limit)}"


def _outputs(history: Any, number: int) -> Iterator[str]:
    """Yield the texts that a cell printed and displayed."""
    entries = getattr(history, "outputs", None)
    if entries is None:
        if text := history.output_hist_reprs.get(number):
            yield str(text)
        return
    for entry in entries.get(number, ()):
        text = entry.bundle.get("stream", entry.bundle.get("text/plain", ""))
        if joined := "".join(text).strip():
            yield strip_controls(joined)


def _error(history: Any, number: int) -> str:
    error = getattr(history, "exceptions", {}).get(number)
    return strip_controls("\n".join(error.get("traceback", ()))).strip() if error else ""


def _fenced(text: str, language: str) -> str:
    """Return a text in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
