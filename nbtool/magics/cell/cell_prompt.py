"""The prompt of a `%%chat` cell, and the cells that it asks for: of the page where there is one, else of history."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import dropwhile, takewhile
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.errors import ToolFailed
from nbtool.magics.cell.filled_prompt import fill_prompt
from nbtool.magics.cell.notebook_session import notebook_of_cell
from nbtool.magics.kernel.page_channel import CONTEXT_SECONDS
from nbtool.magics.notebook.cell_context import CellContext, ContextCell, Origin, cell_context
from nbtool.magics.notebook.history_cells import HistoryCells
from nbtool.magics.notebook.page_cells import OUTPUT_CHARACTERS, last_page_error, last_page_run, page_context
from nbtool.magics.notebook.page_notebook import PageNotebook
from nbtool.policy import site_policy
from nbtool.tools.values.sanitize import masking
from nbtool.toolsets.notebook_access import NotebookCell

WITHOUT_CELLS = "Write a prompt without `--cells`, and say in it what the model should know of them."
"""What a person can do where no cell may be sent."""


def prompt_of(
    shell: Any, chat: Chat, flags: Flags, body: str, magic: str, notebook: PageNotebook
) -> tuple[str, CellContext | None]:
    """Return the prompt of a cell, with the notebook's cells that it asks for, and these; empty without a prompt."""
    prompt = trim(body) if has_prompt(body) else ""
    if flags.fill:
        prompt = fill_prompt(prompt, shell.user_ns)
    cells: CellContext | None = flags.cell_context
    if not prompt or not (cells or flags.cells):
        return prompt, None
    site_policy().check_values("the cells of the notebook", fix=WITHOUT_CELLS)
    if cells is None:
        with masking(chat.plugins):
            cells = _requested_cells(shell, flags.cells, magic, notebook)
    return (f"{prompt}\n\n{cells.text}" if cells.text else prompt), cells


def _requested_cells(shell: Any, words: str, magic: str, notebook: PageNotebook) -> CellContext:
    """Return the cells that `--cells` names: from the page's notebook where there is one, else from the history."""
    if notebook.is_ready(CONTEXT_SECONDS):
        with suppress(ToolFailed):  # the page was closed meanwhile
            return page_context(notebook.cells(OUTPUT_CHARACTERS), notebook.running_cell, words, magic)
    return cell_context(HistoryCells(shell, magic).select(words))


def last_failed_cell(shell: Any, magic: str) -> tuple[ContextCell, Origin] | None:
    """Return the cell that failed last, and where it comes from; None if none did."""
    return _last(shell, magic, last_page_error, HistoryCells.last_error)


def last_cell(shell: Any, magic: str) -> tuple[ContextCell, Origin] | None:
    """Return the cell that ran last, and where it comes from; None if none did."""
    return _last(shell, magic, last_page_run, HistoryCells.last)


def _last(
    shell: Any,
    magic: str,
    in_page: Callable[[Sequence[NotebookCell], str, HistoryCells], ContextCell | None],
    in_history: Callable[[HistoryCells], ContextCell | None],
) -> tuple[ContextCell, Origin] | None:
    """Return a cell from the page's notebook where there is one that has it, else from the history."""
    history = HistoryCells(shell, magic)
    with notebook_of_cell(shell, magic) as notebook:
        if notebook.is_ready(CONTEXT_SECONDS):
            with suppress(ToolFailed):  # the page was closed meanwhile
                if cell := in_page(notebook.cells(OUTPUT_CHARACTERS), notebook.running_cell, history):
                    return cell, "page"
    cell = in_history(history)
    return (cell, "history") if cell else None


def trim(body: str) -> str:
    """Return the text of a cell without what surrounds it: empty lines, spaces at its end, and a common indentation.

    The first line keeps what the lines below it do not share: Python needs that of pasted code.
    """
    lines = list(dropwhile(lambda line: not line.strip(), body.rstrip().split("\n")))
    if not lines:
        return ""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(min(indents), max(indents), strict=False))
    common = "".join(text for text, _ in equal)
    return "\n".join(line.removeprefix(common) for line in lines)


def has_prompt(body: str) -> bool:
    """Return whether a cell has a prompt: anything but `#` alone, which is what jupytext makes of an empty line.

    A line that begins with `#` is a heading of Markdown, or of a magic that jupytext commented out; both are sent.
    """
    return bool(body.replace("#", "").strip())
