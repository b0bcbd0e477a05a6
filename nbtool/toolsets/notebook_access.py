"""The cells of the notebook whose cell waits for a chat, as tools see them.

A light module: the extension registers the notebook of each turn, and the tools find it by the thread that waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

from nbtool.errors import ToolFailed
from nbtool.threads.caller_thread import CallerThread

CellType = Literal["code", "markdown", "raw"]

NO_NOTEBOOK = (
    "This front end has no notebook model that tools can reach, so nothing was read or changed. The notebook tools "
    "work in JupyterLab and Notebook 7 only, while a cell `%%chat -t nbtool:notebook` runs there, or for a client of "
    "`%chat serve -t nbtool:notebook` while the page of that cell is open; VS Code and a terminal cannot use them. "
    "Elsewhere the user can send cells with `%%chat --cells above` or `%chat fix`, and the tools of nbtool:inspection "
    "and nbtool:python reach what the cells defined. Do not call this tool again before the user says that it can be "
    "used."
)

DIGEST_LENGTH = 12
"""Characters of the digest of a source."""


@dataclass(frozen=True, slots=True)
class CellOutput:
    """One output as text; `length` counts its characters, of which `text` may be the first, or the last of an error."""

    kind: Literal["text", "error", "media"]
    text: str
    length: int


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """One cell: its id, its source, the number of its last run, and its outputs.

    `length` counts the characters of the source, `more_outputs` the outputs that were left out.
    """

    id: str
    type: CellType
    source: str
    length: int
    number: int | None = None
    outputs: tuple[CellOutput, ...] = ()
    more_outputs: int = 0

    @property
    def digest(self) -> str:
        """A digest of the source, which changes with every edit."""
        return digest_of(self.source)


@dataclass(frozen=True, slots=True)
class CellRun:
    """What a cell printed and showed, as texts, and the line of the error in which it ended."""

    outputs: tuple[CellOutput, ...] = ()
    error: str = ""


class NotebookAccess(Protocol):
    """The cells of one notebook. Every method raises `ToolFailed` with what the model should know.

    A change carries the source that was shown; if the cell has another one, nothing is changed.
    """

    @property
    def running_cell(self) -> str:
        """The id of the cell that waits for the chat, or that serves it; it cannot be changed."""

    @property
    def can_run(self) -> bool:
        """Whether cells can be run: only while a cell waits for the chat."""

    def cells(self, output_chars: int) -> list[NotebookCell]:
        """Return all cells, each output with at most so many characters."""

    def cell(self, cell_id: str) -> NotebookCell:
        """Return one cell with its outputs."""

    def insert(self, after: str, type: CellType, source: str) -> str:
        """Insert a cell after another one ("" for the start), and return its id."""

    def edit(self, cell: NotebookCell, source: str) -> None:
        """Replace the source of a cell."""

    def delete(self, cell: NotebookCell) -> None:
        """Delete a cell."""

    def move(self, cell: NotebookCell, former: str, after: str) -> None:
        """Move a cell that is after `former` after another one ("" for the start)."""

    def run(self, cell: NotebookCell) -> CellRun:
        """Run a cell in this kernel, and show its output under it; on the main thread."""


def digest_of(source: str) -> str:
    """Return a digest of a source."""
    return sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


_notebooks: WeakKeyDictionary[CallerThread, NotebookAccess] = WeakKeyDictionary()


@contextmanager
def open_notebook(caller_thread: CallerThread, notebook: NotebookAccess | None) -> Iterator[None]:
    """Let the tools of a turn use a notebook while its cell waits; None if there is none."""
    if notebook is not None:
        _notebooks[caller_thread] = notebook
    try:
        yield
    finally:
        _notebooks.pop(caller_thread, None)


def has_notebook(caller_thread: CallerThread) -> bool:
    """Return whether a turn has a notebook."""
    return caller_thread in _notebooks


def notebook_of(caller_thread: CallerThread) -> NotebookAccess:
    """Return the notebook of a turn.

    Raises:
        ToolFailed: its cell has ended, or its front end has no notebook model.
    """
    try:
        return _notebooks[caller_thread]
    except KeyError:
        raise ToolFailed(NO_NOTEBOOK) from None
