"""The messages about the cells of a notebook between the kernel and the page that runs its current cell.

The kernel asks, and the page answers, only while a turn of that page runs. A change carries the source that the
person was shown: the page compares it with the cell at the moment of the change, and refuses if it differs.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NotRequired, final

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from nbtool.view.message_envelope import CLOSED, validate_content
from nbtool.view.message_fields import Id

MAX_CELLS = 2_000
"""Cells of a notebook that are read."""

MAX_SOURCE = 200_000
"""Characters of the source of one cell that are read or written."""

MAX_OUTPUTS = 200
"""Outputs of one cell that are read."""

MAX_OUTPUT_TEXT = 200_000
"""Characters of one output that are read."""
CellKind = Literal["code", "markdown", "raw"]
OutputKind = Literal["text", "error", "media"]
Count = Annotated[int, Field(ge=0, le=2**53)]
SourceText = Annotated[str, Field(max_length=MAX_SOURCE)]


# --- to the page --------------------------------------------------------------------------------------------------


class CellsRequest(TypedDict):
    """A request of all cells, with so many characters of each output: the first, of an error the last."""

    op: Literal["cells"]
    output: Count


class CellRequest(TypedDict):
    """A request of one cell with its outputs."""

    op: Literal["cell"]
    cell: Id


class InsertRequest(TypedDict):
    """A new cell `cell`, after the cell `after` ("" for the start), or with `raw` a cell that was deleted."""

    op: Literal["insert"]
    cell: Id
    after: str
    type: CellKind
    source: SourceText
    raw: NotRequired[dict[str, Any]]


class EditRequest(TypedDict):
    """Replace a cell's source, if it is still `expected`."""

    op: Literal["edit"]
    cell: Id
    expected: SourceText
    source: SourceText


class DeleteRequest(TypedDict):
    """Delete a cell, if its source is still `expected`."""

    op: Literal["delete"]
    cell: Id
    expected: SourceText


class MoveRequest(TypedDict):
    """Move a cell after another one ("" for the start), if it is still after `expected_after`."""

    op: Literal["move"]
    cell: Id
    after: str
    expected_after: str
    expected: SourceText


class StartRequest(TypedDict):
    """Remove the outputs of a code cell that is about to run, if its source is still `expected`."""

    op: Literal["start"]
    cell: Id
    expected: SourceText


class OutputsRequest(TypedDict):
    """The outputs of a cell that this channel started."""

    op: Literal["outputs"]
    cell: Id
    outputs: list[dict[str, Any]]


NotebookRequest = (
    CellsRequest
    | CellRequest
    | InsertRequest
    | EditRequest
    | DeleteRequest
    | MoveRequest
    | StartRequest
    | OutputsRequest
)
"""Kernel → page; the channel adds version, nonce and id."""


# --- from the page ------------------------------------------------------------------------------------------------


class OutputText(TypedDict):
    """One output as text: of an error the traceback, of media the types. `length` counts all characters."""

    kind: OutputKind
    text: Annotated[str, Field(max_length=MAX_OUTPUT_TEXT)]
    length: Count


class PageCellData(TypedDict):
    """One cell; `number` is that of its last run. Of a long source the first characters, `length` counts all."""

    id: Id
    type: CellKind
    source: SourceText
    length: Count
    number: Count | None
    outputs: Annotated[list[OutputText], Field(max_length=MAX_OUTPUTS)]
    more_outputs: Count


@final
class CellsAnswer(TypedDict):
    """The cells, in the order of the notebook; `more` counts those that were left out at the end."""

    kind: Literal["cells"]
    cells: Annotated[list[PageCellData], Field(max_length=MAX_CELLS)]
    more: Count


@final
class DoneAnswer(TypedDict):
    """The change was made; of a deleted cell `raw` is all of it, and `after` the cell before it ("" at the start)."""

    kind: Literal["done"]
    cell: Id
    after: NotRequired[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")]]
    raw: NotRequired[dict[str, Any]]


@final
class RefusedAnswer(TypedDict):
    """Nothing was changed: there is no such cell, it has changed, or this kind of cell cannot do it."""

    kind: Literal["refused"]
    reason: Literal["missing", "changed", "exists", "unsupported"]


NotebookAnswer = CellsAnswer | DoneAnswer | RefusedAnswer
"""Page → kernel; the channel checks version, nonce and id."""


def parse_answer(content: object) -> NotebookAnswer | None:
    """Parse an answer of a page; None if it is none of these, or out of bounds."""
    return validate_content(_validator(), content) if isinstance(content, dict) else None


@cache
def _validator() -> TypeAdapter[NotebookAnswer]:
    return TypeAdapter(Annotated[NotebookAnswer, Field(discriminator="kind")], config=CLOSED)
