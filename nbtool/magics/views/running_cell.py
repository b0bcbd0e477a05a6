"""The cell that runs now, as a place for output of other threads."""

from __future__ import annotations

from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from IPython.display import display


class RunningCell:
    """Displays objects in the cell that runs; in none between two cells.

    A thread has no cell of its own. ipykernel 7 takes the cell of an output from the context, so the context of each
    cell is kept while it runs; ipykernel 6 takes the cell that runs.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._contexts: list[Context] = []

    def watch(self) -> None:
        """Follow which cell runs, from the next one on."""
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)

    def stop_watching(self) -> None:
        """Stop to follow it; nothing is displayed any more."""
        with suppress(ValueError):  # it does not watch
            self._shell.events.unregister("pre_run_cell", self._begin)
            self._shell.events.unregister("post_run_cell", self._end)
        self._contexts = []

    def display(self, data: dict[str, Any], metadata: dict[str, Any]) -> Any:
        """Display data below the output of the cell that runs; return its display handle, None between cells."""
        contexts = self._contexts
        if not contexts:
            return None
        show = partial(display, data, raw=True, metadata=metadata, display_id=True)
        return contexts[-1].copy().run(show)  # a context runs in one thread at a time

    def _begin(self, _: object) -> None:
        self._contexts = [*self._contexts, copy_context()]

    def _end(self, _: object) -> None:
        self._contexts = self._contexts[:-1]
