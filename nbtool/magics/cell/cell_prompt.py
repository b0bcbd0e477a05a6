"""The prompt of a `%%chat` cell, with the notebook's cells that it asks for."""

from __future__ import annotations

from argparse import Namespace as Flags
from contextlib import suppress
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.errors import ToolFailed
from nbtool.magics.kernel.page_channel import CONTEXT_SECONDS
from nbtool.magics.notebook.earlier_cells import CellContext, EarlierCells, cell_context
from nbtool.magics.notebook.page_cells import OUTPUT_CHARACTERS, page_context
from nbtool.magics.notebook.page_notebook import PageNotebook
from nbtool.tools.values.excerpt import masking


def prompt_of(
    shell: Any, chat: Chat, flags: Flags, body: str, magic: str, notebook: PageNotebook
) -> tuple[str, CellContext | None]:
    """Return the prompt of a cell, with the notebook's cells that it asks for, and these; empty without a prompt."""
    prompt = body.strip() if has_prompt(body) else ""
    if not prompt or not flags.cells:
        return prompt, None
    with masking(chat.plugins):
        cells = _requested_cells(shell, flags.cells, magic, notebook)
    return (f"{prompt}\n\n{cells.text}" if cells.text else prompt), cells


def _requested_cells(shell: Any, words: str, magic: str, notebook: PageNotebook) -> CellContext:
    """Return the cells that `--cells` names: from the page's notebook where there is one, else from the history."""
    if notebook.is_ready(CONTEXT_SECONDS):
        with suppress(ToolFailed):  # the page was closed meanwhile
            return page_context(notebook.cells(OUTPUT_CHARACTERS), notebook.running_cell, words, magic)
    return cell_context(EarlierCells(shell, magic).select(words))


def has_prompt(body: str) -> bool:
    """Return whether a cell has a prompt: an empty one, or one with only comments, is not sent."""
    lines = (line.strip() for line in body.splitlines())
    return any(line and not line.startswith("#") for line in lines)
