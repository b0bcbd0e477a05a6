"""Cells from IPython's history: those that ran in this kernel; those of the page are in `page_cells.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbtool.magics.notebook.cell_context import ContextCell
from nbtool.magics.notebook.cell_selection import select_cells
from nbtool.magics.notebook.own_magic import OwnMagic
from nbtool.tools.values.sanitize import strip_controls


@dataclass(frozen=True, slots=True)
class HistoryCells:
    """The cells that ran in this kernel, without those of nbtool's own magics.

    Outputs and errors come from IPython 9 and newer; earlier ones keep the value of a cell's last line only.
    """

    shell: Any
    magic: str = "chat"

    def select(self, words: str) -> list[ContextCell]:
        """Return the cells that `--cells` names: `above` or `all`, the last `N`, or `A:B` by their numbers.

        Raises:
            BadUsage: the words name no cells.
        """
        cells = list(self)
        return select_cells(words, cells, cells, lambda cell: cell.number)

    def last_error(self) -> ContextCell | None:
        """Return the cell that failed last; None if none did."""
        return next((cell for cell in reversed(list(self)) if cell.error), None)

    def last(self) -> ContextCell | None:
        """Return the cell that ran last; None if none did."""
        return next(reversed(list(self)), None)

    def __iter__(self) -> Iterator[ContextCell]:
        """Yield the cells, oldest first."""
        history = self.shell.history_manager
        sources = history.input_hist_raw
        running, own = self.shell.execution_count, OwnMagic(self.magic)
        for number, source in enumerate(sources):
            if source.strip() and number < running and not own.matches(source):
                yield ContextCell(number, source.strip(), tuple(_outputs(history, number)), _error(history, number))


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
