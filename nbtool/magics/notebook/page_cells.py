"""Cells from the page of the notebook; those that ran, also without a page, are in `history_cells.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nbtool.magics.notebook.cell_context import MAX_OUTPUT, CellContext, ContextCell, cell_context
from nbtool.magics.notebook.cell_selection import select_cells
from nbtool.magics.notebook.history_cells import HistoryCells
from nbtool.magics.notebook.own_magic import OwnMagic
from nbtool.tools.values.sanitize import strip_controls
from nbtool.toolsets.notebook_access import NotebookCell

OUTPUT_CHARACTERS = 2 * MAX_OUTPUT
"""Characters that are requested of each output, so that what is cut of it can be masked first."""

COMPARED = 400
"""Characters at the end of an error by which the one that the page shows is found in IPython's history."""


def page_context(cells: Sequence[NotebookCell], running_cell: str, words: str, magic: str) -> CellContext:
    """Return the cells that `--cells` names: `above` the running cell, `all`, the last `N` above it, or `A:B`.

    Raises:
        BadUsage: the words name no cells.
    """
    ids = [cell.id for cell in cells]
    here = ids.index(running_cell) if running_cell in ids else len(cells)
    own = OwnMagic(magic)
    usable = [
        (at, cell)
        for at, cell in enumerate(cells)
        if at != here and cell.source.strip() and not own.matches(cell.source)
    ]
    above = [pair for pair in usable if pair[0] < here]
    chosen = select_cells(words, usable, above, lambda word: word[1].number)
    distances = [abs(at - here) for at, _ in chosen]
    return cell_context([_earlier(cell) for _, cell in chosen], "page", distances)


def last_page_error(cells: Sequence[NotebookCell], running_cell: str, history: HistoryCells) -> ContextCell | None:
    """Return the cell of the page that failed last in this kernel; None if none shows its error."""
    ran = (pair for pair in _that_ran(cells, running_cell, history) if pair[0].error)
    return next((page for page, run in ran if not run.error or _same_end(page.error, run.error)), None)


def last_page_run(cells: Sequence[NotebookCell], running_cell: str, history: HistoryCells) -> ContextCell | None:
    """Return the cell of the page that ran last in this kernel; None if none did."""
    return next((page for page, _ in _that_ran(cells, running_cell, history)), None)


def _that_ran(
    cells: Sequence[NotebookCell], running_cell: str, history: HistoryCells
) -> list[tuple[ContextCell, ContextCell]]:
    """Return the cells of the page that ran in this kernel, each with what the history has of it; the last one first.

    Of several with the same number, all but one ran in an earlier kernel: the one that is as it ran comes first.
    """
    runs = {run.number: run for run in history}
    found = [
        (_since(_earlier(cell), runs[cell.number]), runs[cell.number])
        for cell in cells
        if cell.id != running_cell and cell.number in runs and not OwnMagic(history.magic).matches(cell.source)
    ]
    return sorted(found, key=lambda pair: (pair[1].number or 0, not pair[0].edited), reverse=True)


def _since(page: ContextCell, run: ContextCell) -> ContextCell:
    """Return a cell of the page with the source that ran, and the one that it has now if it differs."""
    return page if page.source == run.source else replace(page, source=run.source, edited=page.source)


def _same_end(text: str, other: str) -> bool:
    """Return whether two errors are the same, as far as both are known: the end of each."""
    return text[-COMPARED:] == other[-COMPARED:]


def _earlier(cell: NotebookCell) -> ContextCell:
    outputs = tuple(strip_controls(output.text).strip() for output in cell.outputs if output.kind != "error")
    error = "\n".join(strip_controls(output.text) for output in cell.outputs if output.kind == "error").strip()
    language = {"code": "python", "markdown": "markdown"}.get(cell.type, "text")
    return ContextCell(cell.number, cell.source.strip(), tuple(filter(None, outputs)), error, language)
