"""A notebook in memory: it refuses, like a page, a change of a cell that is not as it was shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from nbtool.errors import ToolFailed
from nbtool.toolsets.notebook_access import CellOutput, CellRun, CellType, NotebookCell


def cell(cell_id: str, source: str = "", type: CellType = "code", **fields: object) -> NotebookCell:
    return NotebookCell(cell_id, type, source, len(source), **fields)  # type: ignore[arg-type]  # fields of the cell


@dataclass(eq=False)
class MemoryNotebook:
    """The cells in their order; `ran` are the sources that ran."""

    contents: list[NotebookCell]
    running_cell: str = "chat"
    can_run: bool = True
    ran: list[str] = field(default_factory=list)
    result: CellRun = field(default_factory=lambda: CellRun((CellOutput("text", "42", 2),)))

    @property
    def sources(self) -> dict[str, str]:
        return {one.id: one.source for one in self.contents}

    def type_into(self, cell_id: str, source: str) -> None:
        """Change a cell as the person does."""
        at = self._at(cell_id)
        self.contents[at] = replace(self.contents[at], source=source, length=len(source))

    def cells(self, output_chars: int) -> list[NotebookCell]:
        return [
            replace(one, outputs=tuple(replace(out, text=out.text[:output_chars]) for out in one.outputs))
            for one in self.contents
        ]

    def cell(self, cell_id: str) -> NotebookCell:
        return self.contents[self._at(cell_id)]

    def insert(self, after: str, type: CellType, source: str) -> str:
        self.contents.insert(self._at(after) + 1 if after else 0, cell("new", source, type))
        return "new"

    def edit(self, cell: NotebookCell, source: str) -> None:
        self._check(cell)
        self.type_into(cell.id, source)

    def delete(self, cell: NotebookCell) -> None:
        self._check(cell)
        del self.contents[self._at(cell.id)]

    def move(self, cell: NotebookCell, former: str, after: str) -> None:
        self._check(cell)
        at = self._at(cell.id)
        if (self.contents[at - 1].id if at else "") != former:
            raise ToolFailed("The cell was moved since it was shown.")
        moved = self.contents.pop(self._at(cell.id))
        self.contents.insert(self._at(after) + 1 if after else 0, moved)

    def run(self, cell: NotebookCell) -> CellRun:
        self._check(cell)
        self.ran.append(cell.source)
        return self.result

    def _at(self, cell_id: str) -> int:
        for at, one in enumerate(self.contents):
            if one.id == cell_id:
                return at
        raise ToolFailed("The notebook has no such cell now.")

    def _check(self, cell: NotebookCell) -> None:
        if self.contents[self._at(cell.id)].source != cell.source:
            raise ToolFailed("The user edited the cell since it was shown.")
