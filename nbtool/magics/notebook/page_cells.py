"""The cells that `--cells` names, from the page of the notebook: also those that did not run, and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from nbtool.magics.notebook.earlier_cells import (
    MAX_OUTPUT,
    CellContext,
    EarlierCell,
    cell_context,
    parse_range,
    unknown_numbers,
    unknown_words,
)
from nbtool.magics.notebook.own_magic import OwnMagic
from nbtool.tools.values.sanitize import strip_controls
from nbtool.toolsets.notebook_access import NotebookCell

OUTPUT_CHARACTERS = 2 * MAX_OUTPUT
"""Characters that are requested of each output, so that what is cut of it can be masked first."""


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
    chosen = _select(usable, here, words)
    distances = [abs(at - here) for at, _ in chosen]
    return cell_context([_earlier(cell) for _, cell in chosen], "page", distances)


def _select(usable: list[tuple[int, NotebookCell]], here: int, words: str) -> list[tuple[int, NotebookCell]]:
    above = [one for one in usable if one[0] < here]
    if words == "all":
        return usable
    if words == "above":
        return above
    if words.isdecimal() and int(words):
        return above[-int(words) :]
    if bounds := parse_range(words):
        chosen = [one for one in usable if one[1].number and bounds[0] <= one[1].number <= bounds[1]]
        if chosen:
            return chosen
        raise unknown_numbers(words, [cell.number for _, cell in usable if cell.number])
    raise unknown_words(words)


def _earlier(cell: NotebookCell) -> EarlierCell:
    outputs = tuple(strip_controls(output.text).strip() for output in cell.outputs if output.kind != "error")
    error = "\n".join(strip_controls(output.text) for output in cell.outputs if output.kind == "error").strip()
    language = {"code": "python", "markdown": "markdown"}.get(cell.type, "text")
    return EarlierCell(cell.number, cell.source.strip(), tuple(filter(None, outputs)), error, language)
