"""The notebook's cells as context of a prompt: sources, outputs and errors, from IPython's history, only on request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.magics.notebook.own_magic import OwnMagic
from nbtool.text import shorten
from nbtool.tools.values.masked_excerpt import excerpt, mask_text
from nbtool.tools.values.sanitize import strip_controls

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

Origin = Literal["page", "history"]

_RANGE = re.compile(r"(\d*):(\d*)")


@dataclass(frozen=True, slots=True)
class EarlierCell:
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
        """Return the cell as Markdown, in fences that its text cannot close; of a long error the end is kept."""
        number = " " if self.number is None else self.number
        title = f"In [{number}]:" if self.language == "python" else f"{self.language.title()}:"
        texts = [(title, self.language, _first(self.source, MAX_SOURCE))]
        if self.outputs:
            texts.append((f"Out [{number}]:", "", _first("\n".join(self.outputs), MAX_OUTPUT)))
        if self.error:
            texts.append((f"Error of [{number}]:", "", _last(self.error, MAX_OUTPUT)))
        if self.edited:
            texts.append((EDITED.format(number=number), self.language, _first(self.edited, MAX_SOURCE)))
        return "\n\n".join(f"{title}\n{_fenced(text, language)}" for title, language, text in texts)


@dataclass(frozen=True, slots=True)
class EarlierCells:
    """The cells that ran in this kernel, without those of nbtool's own magics.

    Outputs and errors come from IPython 9 and newer; earlier ones keep the value of a cell's last line only.
    """

    shell: Any
    magic: str = "chat"

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
        if bounds := parse_range(words):
            if chosen := [cell for cell in cells if cell.number and bounds[0] <= cell.number <= bounds[1]]:
                return chosen
            raise unknown_numbers(words, [cell.number for cell in cells if cell.number])
        raise unknown_words(words)

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
        running, own = self.shell.execution_count, OwnMagic(self.magic)
        for number, source in enumerate(sources):
            if source.strip() and number < running and not own.matches(source):
                yield EarlierCell(number, source.strip(), tuple(_outputs(history, number)), _error(history, number))


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
        cells = f"{self.count} cell{'' if self.count == 1 else 's'}"
        return f"{cells} from {ORIGINS[self.origin]}, about {tokens:,} tokens{left}"


def cell_context(
    cells: Sequence[EarlierCell], origin: Origin = "history", distances: Sequence[int] | None = None
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


def parse_range(words: str) -> tuple[int, int] | None:
    """Return the bounds of `A:B`, either of which may be missing; None if this is no range."""
    bounds = _RANGE.fullmatch(words)
    return (int(bounds[1] or 1), int(bounds[2] or 10**9)) if bounds else None


def unknown_numbers(words: str, numbers: Sequence[int]) -> BadUsage:
    """Return the error for a range in which no cell is."""
    ran = f"from {min(numbers)} to {max(numbers)}" if numbers else "none"
    return BadUsage(f"--cells {words}: no cell has such a number.", fix=f"The cells that ran here: {ran}.")


def unknown_words(words: str) -> BadUsage:
    """Return the error for words that name no cells."""
    return BadUsage(
        f"--cells {shorten(words, 40)} names no cells.",
        fix="`--cells above`, `--cells all`, `--cells 3` (the last three), `--cells 2:5`.",
    )


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
