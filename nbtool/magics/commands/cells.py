"""Ask about a cell of the notebook: `fix`, `explain`."""

from __future__ import annotations

import shlex

from nbtool.errors import BadUsage
from nbtool.magics.commands.context import Command, CommandContext
from nbtool.magics.notebook.earlier_cells import EarlierCell, EarlierCells, cell_context
from nbtool.tools.values.excerpt import masking

FIX = "The last of the cells below failed. Say in one or two sentences why, and write the corrected cell in full."
EXPLAIN = "Explain what the last of the cells below does, and what its output means."


def fix(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that failed last: `fix [WORDS]`.

    Sends it with its traceback, and asks for the reason and a corrected cell; the words are added to the prompt.
    """
    cell = EarlierCells(context.kernel.shell, context.kernel.magic).last_error()
    if cell is None:
        raise BadUsage(
            "No cell of this kernel has failed, as far as IPython recorded it.",
            fix="`%chat explain` asks about the last one.",
        )
    return _ask(context, FIX, args, cell)


def explain(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that ran last: `explain [WORDS]`.

    Sends it with its output, and asks what it does; the words are added to the prompt.
    """
    cell = EarlierCells(context.kernel.shell, context.kernel.magic).last()
    if cell is None:
        raise BadUsage("No cell has run in this kernel yet.", fix="Run one first.")
    return _ask(context, EXPLAIN, args, cell)


COMMANDS: dict[str, Command] = {"fix": fix, "explain": explain}


def _ask(context: CommandContext, task: str, args: list[str], cell: EarlierCell) -> str:
    with masking(context.chat.plugins):
        prompt = "\n\n".join([" ".join([task, *args]), cell_context([cell]).text])
    context.kernel.run_cell(f"-c {shlex.quote(context.name)}", prompt)
    return ""
