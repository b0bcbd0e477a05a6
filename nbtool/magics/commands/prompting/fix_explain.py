"""Ask about a cell of the notebook: `fix`, `explain`."""

from __future__ import annotations

from argparse import Namespace as Flags
from dataclasses import replace

from nbtool.errors import BadUsage
from nbtool.magics.cell.cell_prompt import last_cell, last_failed_cell
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.flags.flag_parser import parse_with_text
from nbtool.magics.flags.flag_table import command_parser
from nbtool.magics.notebook.cell_context import ContextCell, Origin, cell_context
from nbtool.tools.values.sanitize import masking

TASKS = {
    "fix": "The last of the cells below failed. Say in one or two sentences why, and write the corrected cell in full.",
    "explain": "Explain what the last of the cells below does, and what its output means.",
}


FLAGS = tuple(name for flag in command_parser("fix").flags() for name in flag.option_strings)
"""The flags of both, which are those of `%%chat`."""


def fix(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that failed last.

    `fix [FLAGS] [WORDS]` sends it with its traceback, and asks for the reason and a corrected cell; the
    words are added to the prompt. FLAGS are those of `%%chat`, such as `-m`, but for `--cells`, `--rerun` and `--edit`.
    With `--dry-run` the request is printed, and nothing is sent.
    """
    flags, prompt = _parse("fix", args)
    found = last_failed_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage(
            "No cell of the page shows an error of this kernel, and IPython has recorded none.",
            fix="`%chat explain` asks about the last one.",
        )
    return _ask(context, "fix", flags, prompt, *found)


def explain(context: CommandContext, args: list[str]) -> str:
    """Ask about the cell that ran last.

    `explain [FLAGS] [WORDS]` sends it with its output, and asks what it does; the words are added to the
    prompt. FLAGS are as for `fix`. With `--dry-run` the request is printed, and nothing is sent.
    """
    flags, prompt = _parse("explain", args)
    found = last_cell(context.kernel.shell, context.kernel.magic)
    if found is None:
        raise BadUsage("No cell has run in this kernel yet.", fix="Run one first.")
    return _ask(context, "explain", flags, prompt, *found)


def _parse(name: str, args: list[str]) -> tuple[Flags, str]:
    flags, words = parse_with_text(command_parser(name), args)
    return flags, " ".join([TASKS[name], *words])


def _ask(context: CommandContext, name: str, flags: Flags, prompt: str, cell: ContextCell, origin: Origin) -> str:
    context = replace(context, name=flags.chat or context.name)
    with masking(context.chat.plugins):
        cells = cell_context([cell], origin)
    flags.chat = context.name
    fixes = (cell.number or 0) if name == "fix" and origin == "page" else 0
    context.kernel.send(flags, prompt, cells, fixes=fixes)
    return ""
