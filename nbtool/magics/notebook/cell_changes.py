"""What a turn changed in the cells of the notebook, and the requests that take it back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MAX_RAW_CHARACTERS = 5_000_000
"""Maximum size, as JSON, of a deleted cell that is kept with its outputs; a larger one is kept without them."""

CellChangeKind = Literal["inserted", "edited", "deleted", "moved"]


@dataclass(frozen=True, slots=True)
class CellChange:
    """One change of a cell; `source` is what the turn left, `former` what was there before.

    `after` is the cell before it (of a moved one now, of a deleted one when it was deleted), `former_after` the one
    before it earlier, and `raw` all of a deleted cell.
    """

    kind: CellChangeKind
    cell: str
    source: str = field(default="", repr=False)
    former: str = field(default="", repr=False)
    after: str = ""
    former_after: str = ""
    raw: dict[str, Any] | None = field(default=None, repr=False)

    def reverse(self) -> dict[str, Any] | None:
        """Return the request that takes the change back, if the cell is as the turn left it."""
        match self.kind:
            case "inserted":
                return {"op": "delete", "cell": self.cell, "expected": self.source}
            case "edited":
                return {"op": "edit", "cell": self.cell, "expected": self.source, "source": self.former}
            case "moved":
                places = {"after": self.former_after, "expected_after": self.after}
                return {"op": "move", "cell": self.cell, "expected": self.source, **places}
            case "deleted":
                return self._insert_again()

    def _insert_again(self) -> dict[str, Any] | None:
        if self.raw is None or self.raw.get("cell_type") not in ("code", "markdown", "raw"):
            return None
        raw = {key: value for key, value in self.raw.items() if key not in ("id", "source")}
        if len(json.dumps(raw)) > MAX_RAW_CHARACTERS:
            raw = {"metadata": raw.get("metadata") or {}}
        request = {"op": "insert", "cell": self.cell, "after": self.after, "source": self.former}
        return {**request, "type": self.raw["cell_type"], "raw": raw}


class ChangesCells(Protocol):
    """The notebook that takes changes back; see `page_notebook.PageNotebook`."""

    @property
    def is_available(self) -> bool:
        """Whether the page of the running cell answers."""

    def undo(self, change: CellChange) -> str:
        """Take a change back if the cell is as the turn left it; return why not, empty if it was."""


def describe_cells(changes: Iterable[CellChange]) -> str:
    """Return how many cells were inserted, edited, deleted and moved; empty if none were."""
    count = Counter(change.kind for change in changes)
    return ", ".join(f"{number} {kind}" for kind, number in count.items())


def undo_cells(changes: list[CellChange], notebook: ChangesCells) -> tuple[list[CellChange], str]:
    """Take changes back, the last one first; return those that were not, and what was done.

    A change of a cell is left if a later one of that cell could not be taken back.
    """
    if not changes:
        return [], ""
    if not notebook.is_available:
        return (
            changes,
            "Its changes of cells can be taken back in JupyterLab and Notebook 7, by `%chat undo` in a cell.",
        )
    remaining: list[CellChange] = []
    reasons: dict[str, str] = {}
    for change in reversed(changes):
        reason = reasons.get(change.cell) or notebook.undo(change)
        if reason:
            reasons[change.cell] = reason
            remaining.insert(0, change)
    done = [change for change in changes if change not in remaining]
    texts = [f"Took back {describe_cells(done)} {'cell' if len(done) == 1 else 'cells'}." if done else ""]
    texts += [f"Cell {cell} is left as it is: {reason}" for cell, reason in reasons.items()]
    return remaining, " ".join(filter(None, texts))
