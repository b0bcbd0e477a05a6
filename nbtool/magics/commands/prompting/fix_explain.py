"""Ask about a cell of the notebook: `fix`, `explain`."""

from __future__ import annotations

import shlex

from nbtool.errors import BadUsage
from nbtool.magics.cell.cell_prompt import last_cell, last_failed_cell
from nbtool.magics.commands.context import Command, CommandContext
from nbtool.magics.notebook.cell_context import ContextCell, Origin, cell_context
from nbtool.tools.values.masked_excerpt import masking

FIX = "The last of the cells below failed. Say in one or two sentences why, and write the corrected cell in full."
EXPLAIN = "Explain what the last of the cells below does, and what its output means."


def fix(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that failed last: `fix [WORDS]`.

    Sends it with its traceback, and asks for the reason and a corrected cell; the words are added to the prompt.
    """
    found = last_failed_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage(
            "No cell of the page shows an error of this kernel, and IPython has recorded none.",
            fix="`%chat explain` asks about the last one.",
        )
    return _ask(context, FIX, args, *found)


def explain(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that ran last: `explain [WORDS]`.

    Sends it with its output, and asks what it does; the words are added to the prompt.
    """
    found = last_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage("No cell has run in this kernel yet.", fix="Run one first.")
    return _ask(context, EXPLAIN, args, *found)


COMMANDS: dict[str, Command] = {"fix": fix, "explain": explain}


def _ask(context: CommandContext, task: str, args: list[str], cell: ContextCell, origin: Origin) -> str:
    with masking(context.chat.plugins):
        cells = cell_context([cell], origin)
    context.kernel.run_cell(f"-c {shlex.quote(context.name)}", " ".join([task, *args]), cells)
    return ""
