"""Ask about a cell of the notebook: `fix`, `explain`."""

from __future__ import annotations

import shlex

from nbtool.errors import BadUsage
from nbtool.magics.cell.cell_prompt import last_cell, last_failed_cell
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.notebook.cell_context import ContextCell, Origin, cell_context
from nbtool.text import shorten
from nbtool.tools.values.sanitize import masking

DRY_RUN = "--dry-run"

TASKS = {
    "fix": "The last of the cells below failed. Say in one or two sentences why, and write the corrected cell in full.",
    "explain": "Explain what the last of the cells below does, and what its output means.",
}


def fix(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that failed last.

    `fix [--dry-run] [WORDS]` sends it with its traceback, and asks for the reason and a corrected cell; the
    words are added to the prompt. With `--dry-run` the request is printed, and nothing is sent.
    """
    found = last_failed_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage(
            "No cell of the page shows an error of this kernel, and IPython has recorded none.",
            fix="`%chat explain` asks about the last one.",
        )
    return _ask(context, "fix", args, *found)


def explain(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that ran last.

    `explain [--dry-run] [WORDS]` sends it with its output, and asks what it does; the words are added to the
    prompt. With `--dry-run` the request is printed, and nothing is sent.
    """
    found = last_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage("No cell has run in this kernel yet.", fix="Run one first.")
    return _ask(context, "explain", args, *found)


def _ask(context: CommandContext, name: str, args: list[str], cell: ContextCell, origin: Origin) -> str:
    words = [word for word in args if word != DRY_RUN]
    if options := [word for word in words if word.startswith("--")]:  # sent as a word, it would be no preview
        raise BadUsage(
            f"%chat {name} has no option {shorten(options[0], 60)!r}.",
            fix=f"`%chat {name} [{DRY_RUN}] [WORDS]`; `%%chat --cells 1` takes all flags.",
        )
    with masking(context.chat.plugins):
        cells = cell_context([cell], origin)
    flags = f" {DRY_RUN}" if DRY_RUN in args else ""
    fixes = (cell.number or 0) if name == "fix" and origin == "page" else 0
    body = " ".join([TASKS[name], *words])
    context.kernel.run_cell(f"-c {shlex.quote(context.name)}{flags}", body, cells, fixes=fixes)
    return ""
