"""`%chat …`: administration, one small table of commands, each group of them a file."""

from __future__ import annotations

import difflib

from nbtool.blocks import omission
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Command, CommandContext, format_table
from nbtool.magics.commands import (
    approvals,
    bind,
    branches,
    decode,
    env,
    explore,
    exports,
    history,
    journal,
    recordings,
    show,
    status,
)
from nbtool.magics.commands.reopen import reopen_chat_of
from nbtool.shorten import shorten


def run(context: CommandContext, words: list[str]) -> str:
    """Carry out `%chat WORDS` and give what it has to say.

    Raises:
        BadUsage: there is no such command.
    """
    name, *rest = words or ["help"]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise BadUsage(f"%chat knows no {name!r}.", fix=f"Did you mean {near[0]}?" if near else "See `%chat help`.")
    check_options(name, rest)
    if rest and name in WITHOUT_WORDS:
        raise BadUsage(
            f"%chat {name} takes no more words, and {shorten(' '.join(rest), 80)!r} came.", fix=f"`%chat {name}`"
        )
    notes = [reopen_chat_of(context, word) for word in rest] if name in TURN_COMMANDS else []
    return "\n".join(filter(None, [*notes, COMMANDS[name](context, rest)]))


def check_options(name: str, words: list[str]) -> None:
    """See that no option is taken for the name of a file or an object.

    Raises:
        BadUsage: the command has no such option.
    """
    options = OPTIONS.get(name, frozenset())
    for word in words if name not in FREE_TEXT else ():
        if word.startswith("--") and word not in options:
            near = difflib.get_close_matches(word, options, n=1)
            fix = f"Did you mean {near[0]}?" if near else f"See `%chat help`; a file of that name is ./{word}."
            raise BadUsage(f"%chat {name} knows no option {word}.", fix=fix)


def help_command(_: CommandContext, __: list[str]) -> str:
    """List the commands."""
    rows = [(name, (command.__doc__ or "").splitlines()[0]) for name, command in COMMANDS.items()]
    return format_table(
        *rows, ("-c NAME", "Before or after any of these: the chat that it is about, `main` unless named.")
    )


TURN_COMMANDS = frozenset((*branches.COMMANDS, *show.COMMANDS, *explore.COMMANDS, "code"))
"""Commands that name a turn, which may be of an earlier chat."""

OPTIONS: dict[str, frozenset[str]] = {
    "approve": frozenset({approvals.WAIT}),
    "bind": frozenset({bind.REPLACE}),
    "delete": frozenset({"--below"}),
    "explore": frozenset({explore.STATIC}),
    "show": frozenset({omission.WHOLE_FLAG}),
    "export": frozenset(exports.FORCE),
    "code": frozenset(exports.FORCE),
}
"""The options of commands."""

WITHOUT_WORDS = frozenset({"help", "models", "new", "status", "tools", "vars"})
"""Commands that take nothing but `-c NAME`."""

FREE_TEXT = frozenset({"config", "deny", "history", *WITHOUT_WORDS})
"""Commands whose words are a person's own text, or that look at each of them."""

COMMANDS: dict[str, Command] = {
    **status.COMMANDS,
    **history.COMMANDS,
    **show.COMMANDS,
    **branches.COMMANDS,
    **journal.COMMANDS,
    **explore.COMMANDS,
    **approvals.COMMANDS,
    **bind.COMMANDS,
    **exports.COMMANDS,
    **recordings.COMMANDS,
    **decode.COMMANDS,
    **env.COMMANDS,
    "help": help_command,
}
