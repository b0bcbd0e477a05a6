"""Dispatch `%chat …` to its command: look it up, check its options, format the help."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import pairwise

from nbtool.blocks.render import omission
from nbtool.errors import BadUsage
from nbtool.magics.commands import serve
from nbtool.magics.commands.context import Command, CommandContext, format_sentences, wrap_for_page
from nbtool.magics.commands.files import decode, exports, recordings
from nbtool.magics.commands.past_chats import explore, former_model, journal_admin
from nbtool.magics.commands.past_chats.reopen import reopen_chat_of
from nbtool.magics.commands.prompting import fix_explain, mcp_prompts
from nbtool.magics.commands.state import doctor, env, status
from nbtool.magics.commands.turns import approvals, bind, branches, show, turn_list, undo
from nbtool.magics.views.shown_turns import shown_turns
from nbtool.text import shorten


def run(context: CommandContext, args: list[str]) -> str:
    """Run the command of `%chat ARGS` and return its output.

    Raises:
        BadUsage: there is no such command.
    """
    name, *rest = args if args and args[0] not in HELP_FLAGS else ["help"]
    _find_command(name, rest)
    if _asks_for_help(name, rest):
        return _help_of(name)
    check_options(name, rest)
    if rest and name in WITHOUT_ARGS:
        raise BadUsage(f"%chat {name} takes no arguments, not {shorten(' '.join(rest), 80)!r}.", fix=f"`%chat {name}`")
    for turn in rest if name in TURN_COMMANDS else _values_of(bind.TURN, rest):
        context, note = reopen_chat_of(context, turn)
        if note:
            print(wrap_for_page(context.kernel.shell, note))  # noqa: T201 - a notice for the person, which an error of the command must not suppress
    output = COMMANDS[name](context, rest)
    if name in TURN_COMMANDS:  # other turns may be on the active branch now
        shown_turns.update_branch(context.chat)
    return output


def _asks_for_help(name: str, rest: Sequence[str]) -> bool:
    """Whether the words after a command ask for its help: after a subcommand too, but not within a longer text."""
    return any(word in HELP_FLAGS for word in (rest[:2] if name in FREE_TEXT else rest))


def _values_of(option: str, args: list[str]) -> list[str]:
    return [value for before, value in pairwise(args) if before == option]


def check_options(name: str, args: list[str]) -> None:
    """Check that no unknown option is read as the name of a file or an object.

    Raises:
        BadUsage: the command has no such option.
    """
    options = OPTIONS.get(name, frozenset())
    for arg in args if name not in FREE_TEXT else ():
        has_value = arg.partition("=")[0] in former_model.MODEL_FLAGS and name == "open"
        if arg.startswith("--") and arg not in options and not has_value:
            near = difflib.get_close_matches(arg, options, n=1)
            fix = f"Did you mean {near[0]}?" if near else f"See `%chat help`; a file of that name is ./{arg}."
            raise BadUsage(f"Unknown option {arg} of %chat {name}.", fix=fix)


def help_command(_: CommandContext, args: list[str]) -> str:
    """List the commands, or explain one: `help [COMMAND]`.

    Raises:
        BadUsage: there is no such command.
    """
    match args:
        case []:
            headings = ["\n".join([heading, *map(_help_line, names)]) for heading, names in HEADINGS.items()]
            return "\n\n".join([*headings, HELP_END])
        case [name]:
            return _help_of(_find_command(name))
        case _:
            raise BadUsage("%chat help takes at most one command.", fix="`%chat help` lists them.")


def _find_command(name: str, rest: Sequence[str] = ()) -> str:
    """Return a name if it is that of a command; `rest` are the words after it, which may be those of a prompt.

    Raises:
        BadUsage: there is no such command.
    """
    if name not in COMMANDS:
        if name in CELL_FLAGS:
            raise BadUsage(f"There is no command %chat {name}.", fix=f"It is a flag of a cell: `%%chat --{name}`.")
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        has_words = not near or any(word.isalpha() for word in rest)
        hint = f"Did you mean {near[0]}?" if near else "`%chat help` lists the commands."
        fix = f"{hint} A prompt goes below `%%chat`." if has_words else hint
        raise BadUsage(f"Unknown command %chat {shorten(name, MAX_NAME)}.", fix=fix)
    return name


def _help_line(name: str) -> str:
    """Return a command with the first sentence of its help."""
    first, *_ = (COMMANDS[name].__doc__ or "").splitlines()
    return f"  {name:<{max(map(len, COMMANDS))}}  {first}"


def _help_of(name: str) -> str:
    """Return a command with its whole help."""
    more = f" {CONTINUES_CHAT}" if name in TURN_COMMANDS else ""
    return format_sentences((name, f"{_help_text(COMMANDS[name])}{more}"))


def _help_text(command: Command) -> str:
    """Return the help of a command as one line: its docstring without the errors that it raises."""
    return " ".join((command.__doc__ or "").partition("Raises:")[0].split())


MAX_NAME = 80
"""Characters of an unknown command that an error shows."""

HEADINGS: dict[str, tuple[str, ...]] = {
    "This chat": ("status", "models", "show", "explore", "new", "use"),
    "Turns": (
        "history", "branch", "switch", "hide", "unhide", "pin", "unpin", "delete", "undo", "wait", "cancel",
    ),
    "Earlier chats and files": ("open", "code", "export", "record", "replay"),
    "Tools, variables and approvals": ("tools", "vars", "bind", "approvals", "approve", "deny"),
    "The notebook's cells": ("fix", "explain", "prompt"),
    "Settings and other programs": ("config", "env", "serve", "doctor", "decode", "help"),
}  # fmt: skip
"""The commands as the help lists them."""

HELP_END = (
    "`%chat help COMMAND` says more of one. `-c NAME` before or after any command: the chat it applies to"
    " (default: `main`)."
)

CELL_FLAGS = frozenset({"rerun", "edit", "resume", "re-execute"})
"""Flags of cells that work on earlier turns, and are looked for among the commands, which do so too."""

HELP_FLAGS = frozenset({"--help", "-h"})
"""What prints the help of a command instead of running it."""

TURN_COMMANDS = frozenset((*branches.COMMANDS, *undo.COMMANDS))
"""Commands that take a turn, and first continue the earlier chat that it belongs to."""

CONTINUES_CHAT = (
    "A turn of an earlier kernel or of a map, given by its id, first continues its chat: as this one if this one is"
    " empty, else beside it."
)
"""What the help of these commands ends with."""

TURN_ARGUMENTS = TURN_COMMANDS | {*explore.COMMANDS, *show.COMMANDS, "code"}
"""Commands whose first argument is a turn of this kernel."""

OPTIONS: dict[str, frozenset[str]] = {
    "approve": frozenset({approvals.WAIT}),
    "bind": frozenset({bind.REPLACE, bind.TURN}),
    "delete": frozenset({"--below"}),
    "explore": frozenset({explore.STATIC}),
    "serve": serve.OPTIONS,
    "open": frozenset(former_model.MODEL_FLAGS),
    "undo": frozenset({undo.REPLACE}),
    "show": frozenset({omission.WHOLE_FLAG}),
    "export": frozenset(exports.FORCE),
    "code": frozenset({exports.ALL}),
}
"""The options of each command."""

WITHOUT_ARGS = frozenset({"doctor", "new", "status", "tools", "vars"})
"""Commands without arguments other than `-c NAME`."""

FREE_TEXT = frozenset({"config", "deny", "help", "history", "prompt", "serve", *fix_explain.COMMANDS, *WITHOUT_ARGS})
"""Commands whose arguments are free text or that parse them themselves."""

WITH_WORDS = frozenset({"deny", "history", *fix_explain.COMMANDS})
"""Commands that end with words of a text, in which an apostrophe may stand alone."""

COMMANDS: dict[str, Command] = {
    **status.COMMANDS,
    **turn_list.COMMANDS,
    **show.COMMANDS,
    **branches.COMMANDS,
    **undo.COMMANDS,
    **journal_admin.COMMANDS,
    **explore.COMMANDS,
    **approvals.COMMANDS,
    **bind.COMMANDS,
    **exports.COMMANDS,
    **recordings.COMMANDS,
    **decode.COMMANDS,
    **env.COMMANDS,
    **doctor.COMMANDS,
    **fix_explain.COMMANDS,
    **mcp_prompts.COMMANDS,
    **serve.COMMANDS,
    "help": help_command,
}
