"""Write docs/commands.md: every flag, command and setting, from the tables that the parser and the help are made of.

Usage: python docs/commands.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbtool.magics.commands.command_table import FORMER_COMMANDS
from nbtool.magics.commands.dispatch import COMMANDS, CONTINUES_CHAT, help_text
from nbtool.magics.flags.config import NbTool
from nbtool.magics.flags.flag_table import FORMER_FLAGS, cell_parser, describe_flag

PAGE = Path(__file__).parent / "commands.md"

HEAD = """# Flags and commands

All flags of `%%chat`, all commands of `%chat` and all settings. `%%chat --help` and `%chat help` list them
in a notebook, `%chat help COMMAND` and `%chat help FLAG` explain one, and Tab offers them with what can
follow. `make docs` writes this page from the same tables.
"""

CELLS = """A cell begins with `%%chat`, comments above it at most; flags stand on that line, and the prompt below it. A
list may be written once or in parts: `-t price -t fees` is `-t price fees`. `-m`, `-t`, `-v`, `--read` and
`-s` stay for the chat, the others are of one cell.

- `!NAME` takes away what `-t`, `-v` or `--read` added: a function, a toolset, one tool or a pattern (`-t
  !files.write_file` `'!files.*'`); a variable. After `-v NAME` a variable that could be read is there by
  reference only.
- `-t web_search` is the provider's own tool. If the notebook has a function, a toolset or a server of that
  name, that one is meant, and the cell says so; `--set provider_tools=web_search` is the provider's in any
  case.
- `--set` takes any setting of the table below, as `%chat config` does, for this cell: `--set max_rounds=3
  tool_mode=prompted`. It is over what the chat has of its own; a flag of the cell is over it.
- `--approve later` ends the cell at the first call that has to be approved; the buttons of its card, `%chat
  approve` and `%chat deny` decide later.
"""

LINES = """`-c NAME` before or after a command selects the chat. What `branch` takes says what it does: a number or an
id is a turn, and the next turn follows it; `b2` is a branch, as `%chat history` lists it, and `2.1` a
version: the chat switches to it, as `--switch` does with a turn.
"""

SETTINGS = """Set one with `%config NbTool.NAME = VALUE`, with `%chat config NAME VALUE`, for one cell with `--set
NAME=VALUE`, or for all notebooks in `ipython_config.py` (`c.NbTool.NAME = VALUE`). `%chat status` says
which of them is in force, and `%chat config` lists them with their values and sources. `default` as a value
resets one.
"""

OLD = """A line with one of these runs nothing, and names the present way. In Python, `nbtool.chats()` has the
conversations of cells, by name: `main` is that of cells without `-c`.
"""


def page() -> str:
    """Return the page."""
    parser = cell_parser()
    parts = [
        HEAD,
        "## Flags of `%%chat`\n",
        CELLS,
        *_table(("flag", "meaning"), ((_flag(flag), describe_flag(flag)) for flag in parser.flags())),
    ]
    parts += ["", "## Commands of `%chat`\n", LINES]
    for heading in dict.fromkeys(one.heading for one in COMMANDS.values()):
        rows = ((f"`{name}`", _help(name)) for name, one in COMMANDS.items() if one.heading == heading)
        parts += [f"### {heading}\n", *_table(("command", "meaning"), rows), ""]
    parts += [CONTINUES_CHAT.replace("A turn", "For `branch` and `undo`, a turn"), "", "## Settings\n", SETTINGS]
    traits = sorted(NbTool.class_traits(config=True).items())
    parts += [*_table(("setting", "meaning"), ((f"`{name}`", _setting(trait)) for name, trait in traits)), ""]
    parts += ["## Former names\n", OLD]
    rows = [(f"`{flag}`", f"`{instead}`") for flag, instead in FORMER_FLAGS.items()]
    rows += [(f"`%chat {name}`", instead) for name, instead in FORMER_COMMANDS.items()]
    return "\n".join([*parts, *_table(("former", "now"), rows), ""])


def _flag(flag: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in flag.option_strings)
    if flag.nargs == 0 or isinstance(flag, argparse.BooleanOptionalAction):
        return names
    value = str(flag.metavar or "|".join(map(str, flag.choices or ())))
    return f"{names} `{f'[{value}]' if flag.nargs == '?' else f'{value} …' if flag.nargs == '+' else value}`"


def _help(name: str) -> str:
    return help_text(COMMANDS[name]).removesuffix(f" {CONTINUES_CHAT}")


def _setting(trait: object) -> str:
    text, values = str(getattr(trait, "help", "")), getattr(trait, "values", None)
    choices = f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""
    return f"{text}{choices}"


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "|---|---|"
    yield from (f"| {_cell(name)} | {_cell(text)} |" for name, text in rows)


def _cell(text: str) -> str:
    """Return a text for a cell of a table: what is code stays as it is, the rest is no markup."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    plain = (part if part.startswith("`") else re.sub(r"([<>\[\]$\\{}])", r"\\\1", part) for part in parts)
    return "".join(plain).replace("|", r"\|")


def main() -> int | str:
    """Write the page, or check it; return the exit code, or what is wrong."""
    if "--check" not in sys.argv:
        PAGE.write_text(page(), "utf-8")
        return 0
    return 0 if PAGE.read_text("utf-8") == page() else "docs/commands.md is not up to date: run `make docs`."


if __name__ == "__main__":
    sys.exit(main())
