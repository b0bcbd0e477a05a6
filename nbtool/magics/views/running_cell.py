"""The cell that runs now, as a place for output of other threads."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from IPython.display import display


class CellOutput:
    """An output in a cell; it has the interface of a display handle."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def update(self, data: dict[str, Any], *, raw: bool, metadata: dict[str, Any] | None = None) -> None:
        """Replace what is shown; without effect once the output was cleared."""
        if self._handle is not None:
            self._handle.update(data, raw=raw, metadata=metadata)

    def clear(self) -> None:
        """Show nothing from now on."""
        self.update({"text/plain": ""}, raw=True)
        self._handle = None


@dataclass(eq=False)
class _Cell:
    """A cell that runs, and what was displayed in it."""

    context: Context
    outputs: list[CellOutput] = field(default_factory=list)
    is_closed: bool = False


class RunningCell:
    """Displays objects in the cell that runs; in none between two cells.

    A thread has no cell of its own. ipykernel 7 takes the cell of an output from the context, so the context of each
    cell is kept while it runs; ipykernel 6 takes the cell that runs.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cells: list[_Cell] = []
        self._lock = threading.Lock()  # threads display while the main thread begins, closes and ends cells

    def watch(self) -> None:
        """Follow which cell runs, from the next one on."""
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)

    def stop_watching(self) -> None:
        """Stop to follow it; nothing is displayed any more."""
        with suppress(ValueError):  # it does not watch
            self._shell.events.unregister("pre_run_cell", self._begin)
            self._shell.events.unregister("post_run_cell", self._end)
        self._cells = []

    def display(self, data: dict[str, Any], metadata: dict[str, Any]) -> CellOutput | None:
        """Display data below the output of the cell that runs; return None between cells and in a closed one."""
        with self._lock:
            cell = self._cells[-1] if self._cells else None
            if cell is None or cell.is_closed:
                return None
            show = partial(display, data, raw=True, metadata=metadata, display_id=True)
            output = CellOutput(cell.context.copy().run(show))  # a context runs in one thread at a time
            cell.outputs.append(output)
            return output

    def close(self) -> None:
        """Clear what was displayed in the cell that runs, and display nothing more in it."""
        with self._lock:
            for cell in self._cells[-1:]:
                cell.is_closed = True
                for output in cell.outputs:
                    output.clear()

    def _begin(self, _: object) -> None:
        self._cells = [*self._cells, _Cell(copy_context())]

    def _end(self, _: object) -> None:
        self._cells = self._cells[:-1]
