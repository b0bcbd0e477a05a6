"""The cells of a notebook as texts for a model: an outline, one cell, and parts of what is long."""

from __future__ import annotations

from nbtool.errors import ToolFailed
from nbtool.text import count_of, format_number
from nbtool.tools.values.sanitize import excerpt, mask_text, single_line, strip_controls
from nbtool.toolsets.notebook_access import CellOutput, CellRun, NotebookCell

LISTED = 200
"""Maximum number of cells in one list."""

MAX_SOURCE_CHARS = 12_000
"""Maximum characters of a source in one answer."""

MAX_OUTPUT_CHARS = 2_000
"""Maximum characters of each output that is read with its cell, and of what a run printed."""

MAX_PART_CHARS = 12_000
"""Maximum characters of one part of an output."""

MAX_LINE = 80
"""Characters of the first line of a cell in the outline."""


def outline(cells: list[NotebookCell], running_cell: str, start: int, count: int) -> str:
    """Return a line for each of `count` cells from a position on."""
    lines = [_line(at, cell, running_cell) for at, cell in enumerate(cells, 1) if start <= at < start + count]
    rest = len(cells) - (start + count - 1)
    more = f"; list_cells(start={start + count}) lists the next" if rest > 0 else ""
    return "\n".join([*lines, f"[{count_of(len(cells), 'cell')}{more}]"])


def read_text(cell: NotebookCell, start: int) -> str:
    """Return a cell: its source from a character on, and the beginning of each output."""
    parts = [f"{_kind(cell)} cell {cell.id}:", _part(cell.source, start, MAX_SOURCE_CHARS, cell.length)]
    for number, output in enumerate(cell.outputs, 1):
        parts.append(f"Output {number} ({output.kind}):\n{_output_text(output, MAX_OUTPUT_CHARS, number)}")
    if cell.more_outputs:
        verb = "is" if cell.more_outputs == 1 else "are"
        parts.append(f"[{count_of(cell.more_outputs, 'more output')} {verb} not read]")
    return "\n\n".join(parts)


def output_part(cell: NotebookCell, number: int, start: int) -> str:
    """Return a part of one output.

    Raises:
        ToolFailed: the cell has no such output.
    """
    if not 0 < number <= len(cell.outputs):
        raise ToolFailed(f"The cell has {count_of(len(cell.outputs), 'output')}; they are numbered from 1.")
    output = cell.outputs[number - 1]
    return _part(strip_controls(output.text), start, MAX_PART_CHARS, output.length)


def describe_run(cell: str, run: CellRun) -> str:
    """Return what a run of a cell printed and showed, and the error in which it ended."""
    texts = [
        f"Output {number} ({output.kind}):\n{_output_text(output, MAX_OUTPUT_CHARS, number)}"
        for number, output in enumerate(run.outputs, 1)
        if output.kind != "error" or not run.error
    ]
    state = f"Cell {cell} failed: {run.error}" if run.error else f"Cell {cell} ran."
    return "\n\n".join([state, *texts] if texts else [f"{state} It printed nothing."])


def _line(at: int, cell: NotebookCell, running_cell: str) -> str:
    first = next((line for line in cell.source.splitlines() if line.strip()), "(empty)")
    lines = len(cell.source.splitlines())
    size = sum(output.length for output in cell.outputs)
    failed = ", error" if any(output.kind == "error" for output in cell.outputs) else ""
    count = len(cell.outputs) + cell.more_outputs
    outputs = f", {count_of(count, 'output')} of {count_of(size, 'character')}{failed}"
    own = ", the cell of this chat" if cell.id == running_cell else ""
    facts = f"{count_of(lines, 'line')}{outputs if cell.outputs else ''}{own}"
    return f"{at}. {cell.id} {_kind(cell)}: {excerpt(single_line(first), 0, MAX_LINE)}  ({facts})"


def _kind(cell: NotebookCell) -> str:
    return f"{cell.type} [{'' if cell.number is None else cell.number}]" if cell.type == "code" else cell.type


def _output_text(output: CellOutput, limit: int, number: int) -> str:
    text = strip_controls(output.text)
    if output.kind == "error":
        size = len(mask_text(text))
        return (
            text if size <= limit else f"[{count_of(size - limit, 'character')} before]\n{excerpt(text, size - limit)}"
        )
    if max(output.length, len(text)) <= limit:
        return text
    return f"{excerpt(text, 0, limit)}\n[{count_of(output.length, 'character')} in all: read_cell with output={number}]"


def _part(text: str, start: int, limit: int, length: int) -> str:
    """Return the part of a text that begins at a character, and how to read on."""
    size = len(mask_text(text))
    shown = excerpt(text, start, start + limit)
    before = f"[from character {format_number(start)}]\n" if start else ""
    if start + limit < size:
        return f"{before}{shown}\n[{count_of(size, 'character')} in all: continue with start={start + limit}]"
    rest = length - len(text)
    return f"{before}{shown}" + (f"\n[{count_of(rest, 'more character')} cannot be read]" if rest > 0 else "")
