"""The notebook of the running cell, as its page has it: reads and changes cells by requests to that page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, cast
from uuid import uuid4

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.cell_changes import CellChange
from nbtool.magics.notebook.cell_runner import check_runnable, run_source
from nbtool.magics.notebook.own_magic import OwnMagic
from nbtool.toolsets.notebook_access import NO_NOTEBOOK, CellOutput, CellRun, CellType, NotebookCell
from nbtool.view.notebook_messages import CellsAnswer, DoneAnswer, PageCellData, parse_answer

REFUSALS = {
    "missing": "The notebook has no such cell now. list_cells lists the cells.",
    "changed": "The user edited the cell since it was shown, so nothing was done. Read it again.",
    "exists": "The notebook has a cell of this id.",
    "unsupported": "The notebook does not allow this for that cell: it is protected, running, or of another type.",
}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
NO_ANSWER = "The page of the notebook did not answer: it was closed or reloaded."
RUN_AGAIN = "Run the %%chat cell again from the page."


class Channel(Protocol):
    """The way to the page; see `nbtool.magics.kernel.page_channel.PageChannel`."""

    cell_id: str

    def open(self) -> bool:
        """Open the way without waiting; return whether there may be a page."""

    def is_open(self, seconds: float | None = None) -> bool:
        """Return whether a page with a notebook model answers."""

    def poll(self) -> None:
        """Process messages of the page; on the waiting thread, where no view does."""

    def notebook_path(self) -> str:
        """Return the path of the notebook; empty if no page answers soon."""

    def request(self, message: Mapping[str, Any], *, changes: bool = False) -> dict[str, Any] | None:
        """Send a request and return the answer; None if there is none."""


class PageNotebook:
    """The cells of the notebook whose cell runs; `changes` records what was changed, for `%chat undo`.

    Where no cell waits, cells cannot be run. `remedy` says what to do if the page does not answer.
    """

    def __init__(
        self, channel: Channel, shell: Any, magic: str = "chat", *, can_run: bool = True, remedy: str = RUN_AGAIN
    ) -> None:
        self._channel, self._shell, self._own = channel, shell, OwnMagic(magic)
        self.can_run = can_run
        self._remedy = remedy
        self.changes: list[CellChange] = []

    @property
    def running_cell(self) -> str:
        """The id of the cell that runs."""
        return self._channel.cell_id

    @property
    def is_available(self) -> bool:
        """Whether the page of the running cell answers."""
        return self._channel.is_open()

    @property
    def path(self) -> str:
        """The path of the notebook, as its page says it; empty if no page answers soon."""
        return self._channel.notebook_path()

    def connect(self) -> None:
        """Open the way to the page, so that the first call need not wait for it."""
        self._channel.open()

    def poll(self) -> None:
        """Process messages of the page; on the waiting thread, where no view does."""
        self._channel.poll()

    def is_ready(self, seconds: float) -> bool:
        """Return whether the page of the running cell answers within some seconds."""
        return self._channel.is_open(seconds)

    def cells(self, output_chars: int) -> list[NotebookCell]:
        """Return all cells, each output with at most so many characters."""
        return [_cell(data) for data in self._read({"op": "cells", "output": output_chars})["cells"]]

    def cell(self, cell_id: str) -> NotebookCell:
        """Return one cell with its outputs."""
        answer = self._read({"op": "cell", "cell": cell_id})
        if [data["id"] for data in answer["cells"]] != [cell_id]:
            raise ToolFailed(f"{NO_ANSWER} {self._remedy}")
        return _cell(answer["cells"][0])

    def insert(self, after: str, type: CellType, source: str) -> str:
        """Insert a cell after another one ("" for the start), and return its id."""
        cell_id = str(uuid4())
        self._change({"op": "insert", "cell": cell_id, "after": after, "type": type, "source": source})
        self.changes.append(CellChange("inserted", cell_id, source=source))
        return cell_id

    def edit(self, cell: NotebookCell, source: str) -> None:
        """Replace the source of a cell."""
        self._change({"op": "edit", "cell": cell.id, "expected": cell.source, "source": source})
        self.changes.append(CellChange("edited", cell.id, former=cell.source, source=source))

    def delete(self, cell: NotebookCell) -> None:
        """Delete a cell."""
        done = self._change({"op": "delete", "cell": cell.id, "expected": cell.source})
        self.changes.append(
            CellChange("deleted", cell.id, former=cell.source, after=done.get("after", ""), raw=done.get("raw"))
        )

    def move(self, cell: NotebookCell, former: str, after: str) -> None:
        """Move a cell that is after `former` after another one ("" for the start)."""
        expected = {"expected": cell.source, "expected_after": former}
        self._change({"op": "move", "cell": cell.id, "after": after, **expected})
        self.changes.append(CellChange("moved", cell.id, source=cell.source, former_after=former, after=after))

    def run(self, cell: NotebookCell) -> CellRun:
        """Run a cell in this kernel, and show its output under it; on the main thread."""
        if self._own.matches(cell.source):
            raise ToolFailed("That cell is one of the chat itself: it cannot run inside another one.")
        check_runnable(self._shell, cell.source)
        self._change({"op": "start", "cell": cell.id, "expected": cell.source})
        result = run_source(self._shell, cell.source)
        try:
            self._change({"op": "outputs", "cell": cell.id, "outputs": result.outputs})
        except ToolFailed as error:
            raise ToolFailed(f"The cell ran, and its output could not be shown under it. {error}") from None
        if result.interrupt is not None:
            raise result.interrupt
        return result.as_cell_run()

    def undo(self, change: CellChange) -> str:
        """Take a change back if the cell is as the turn left it; return why not, empty if it was."""
        request = change.reverse()
        if request is None:
            return "what it was is no longer known"
        try:
            self._change(request)
        except ToolFailed as error:
            return str(error)
        return ""

    def _read(self, request: Mapping[str, Any]) -> CellsAnswer:
        answer = self._ask(request)
        if answer["kind"] != "cells":
            raise ToolFailed(f"{NO_ANSWER} {self._remedy}")
        return cast("CellsAnswer", answer)

    def _change(self, request: Mapping[str, Any]) -> DoneAnswer:
        """Have a change made; the answer must be about the cell of the request."""
        answer = self._ask(request, changes=True)
        if answer["kind"] != "done" or answer["cell"] != request["cell"]:
            raise ToolFailed(f"{NO_ANSWER} {self._remedy}")
        return cast("DoneAnswer", answer)

    def _ask(self, request: Mapping[str, Any], *, changes: bool = False) -> Any:
        named = [request.get(key, "") for key in ("cell", "after", "expected_after")]
        if not all(_ID.fullmatch(name) for name in named if name) or ("cell" in request and not request["cell"]):
            raise ToolFailed(REFUSALS["missing"])
        if not self._channel.is_open():
            raise ToolFailed(NO_NOTEBOOK)
        try:
            content = self._channel.request(request, changes=changes)
        except ValueError:  # half of a character, from a cell of the page
            raise ToolFailed("The cell contains a character that cannot be sent to the page.") from None
        answer = parse_answer(content)
        if answer is None:
            raise ToolFailed(f"{NO_ANSWER} {self._remedy}")
        if answer["kind"] == "refused":
            raise ToolFailed(REFUSALS[answer["reason"]])
        return answer


def _cell(data: PageCellData) -> NotebookCell:
    outputs = tuple(CellOutput(item["kind"], item["text"], item["length"]) for item in data["outputs"])
    return NotebookCell(
        data["id"], data["type"], data["source"], data["length"], data["number"], outputs, data["more_outputs"]
    )
