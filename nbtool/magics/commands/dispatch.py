"""Dispatch `%chat …` to its command: look it up, check its options, format the help."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import pairwise

from nbtool.errors import BadUsage
from nbtool.magics.commands.command_table import COMMANDS as TABLE
from nbtool.magics.commands.command_table import FORMER_COMMANDS, SETTINGS, Command
from nbtool.magics.commands.context import CommandContext, format_sentences
from nbtool.magics.commands.past_chats.reopen import reopen_chat_of
from nbtool.magics.commands.turns import bind
from nbtool.magics.flags.flag_parser import is_option
from nbtool.magics.flags.flag_table import REPEATING, cell_parser, check_former, describe_flag
from nbtool.magics.kernel.page_lines import wrap_for_page
from nbtool.magics.views.shown_turns import shown_turns
from nbtool.text import shorten


def run(context: CommandContext, args: list[str]) -> str:
    """Run the command of `%chat ARGS` and return its output.

    Raises:
        BadUsage: there is no such command.
    """
    name, *rest = args if args and args[0] not in HELP_FLAGS else ["help"]
    command = COMMANDS[_find_command(name, rest)]
    if _asks_for_help(command, rest):
        return _help_of(name)
    check_options(name, rest)
    if command.arguments == "none" and (words := [word for word in rest if word not in command.options]):
        usage = " ".join([f"%chat {name}", *(f"[{option}]" for option in command.options)])
        raise BadUsage(f"%chat {name} takes no arguments, not {shorten(' '.join(words), 80)!r}.", fix=f"`{usage}`")
    for turn in rest if command.continues_chat else _values_of(bind.TURN, rest):
        context, note = reopen_chat_of(context, turn)
        if note:
            print(wrap_for_page(context.kernel.shell, note))  # noqa: T201 - a notice for the person, which an error of the command must not suppress
    output = command.run(context, rest)
    if command.continues_chat:  # other turns may be on the active branch now
        shown_turns.update_branch(context.chat)
    return output


def ends_with_text(name: str) -> bool:
    """Whether a line with this command ends with words of a text, in which an apostrophe may stand alone."""
    return name in COMMANDS and COMMANDS[name].arguments in ("text", "prompt", "search")


def _asks_for_help(command: Command, rest: Sequence[str]) -> bool:
    """Whether the words after a command ask for its help: after a subcommand too, but not within a longer text."""
    return any(word in HELP_FLAGS for word in (rest if command.arguments == "checked" else rest[:2]))


def _values_of(option: str, args: list[str]) -> list[str]:
    return [value for before, value in pairwise(args) if before == option]


def check_options(name: str, args: list[str]) -> None:
    """Check that no unknown option is read as the name of a file or an object, or as a word of a text.

    Raises:
        BadUsage: the command has no such option.
    """
    command = COMMANDS[name]
    is_checked = command.arguments in ("checked", "text") or (command.arguments == "none" and command.options)
    for arg in args if is_checked else ():
        option = arg.partition("=")[0] if command.has_equals else arg
        is_unknown = is_option(arg) if command.arguments == "text" else arg.startswith("--")
        if is_unknown and option not in command.options:
            near = difflib.get_close_matches(arg, command.options, n=1)
            other = f"; a file of that name is ./{arg}" if "path" in command.values else ""
            fix = f"Did you mean {near[0]}?" if near else f"See `%chat help {name}`{other}."
            if command.arguments == "text":
                fix = f"{fix} Within a text, put it and the words beside it in quotation marks."
            fix = command.unknown.get(arg, fix)
            raise BadUsage(f"Unknown option {arg} of %chat {name}.", fix=fix)


def help_command(_: CommandContext, args: list[str]) -> str:
    """List the commands, or explain one: `help [COMMAND|FLAG]`.

    FLAG is one of `%%chat`.

    Raises:
        BadUsage: there is no such command, or no such flag.
    """
    match args:
        case []:
            headings = dict.fromkeys(command.heading for command in COMMANDS.values())
            return "\n\n".join([*map(_list_heading, headings), HELP_END])
        case [name] if name.startswith("-"):
            return _help_of_flag(name)
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
        if instead := FORMER_COMMANDS.get(name):
            raise BadUsage(f"%chat {name} is {instead} now.", fix="Nothing has run.")
        if name in REPEATING:
            raise BadUsage(f"There is no command %chat {name}.", fix=f"It is a flag of a cell: `%%chat --{name}`.")
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        has_words = not near or any(word.isalpha() for word in rest)
        hint = f"Did you mean {near[0]}?" if near else "`%chat help` lists the commands."
        fix = f"{hint} A prompt goes below `%%chat`." if has_words else hint
        raise BadUsage(f"Unknown command %chat {shorten(name, MAX_NAME)}.", fix=fix)
    return name


def _list_heading(heading: str) -> str:
    """Return the commands of a heading, each with the first sentence of its help."""
    names = [name for name, command in COMMANDS.items() if command.heading == heading]
    width = max(map(len, COMMANDS))
    return "\n".join([heading, *(f"  {name:<{width}}  {first_sentence(COMMANDS[name])}" for name in names)])


def first_sentence(command: Command) -> str:
    """Return the first line of a command's help."""
    return (command.run.__doc__ or "").partition("\n")[0]


def help_text(command: Command) -> str:
    """Return the help of a command as one line: its docstring without the errors that it raises, and what holds it."""
    text = " ".join((command.run.__doc__ or "").partition("Raises:")[0].split())
    more = f" {CONTINUES_CHAT}" if command.continues_chat else ""
    return f"{text}{more}"


def _help_of(name: str) -> str:
    """Return a command with its whole help."""
    return format_sentences((name, help_text(COMMANDS[name])))


def _help_of_flag(name: str) -> str:
    """Return a flag of cells with its help.

    Raises:
        BadUsage: there is no such flag, or another way replaces it.
    """
    parser = cell_parser()
    check_former([name])
    flag = next((flag for flag in parser.flags() if name in flag.option_strings), None)
    if flag is None:
        parser.error(f"there is no flag {shorten(name, MAX_NAME)}")
    return format_sentences((", ".join(flag.option_strings), describe_flag(flag)))


MAX_NAME = 80
"""Characters of an unknown command that an error shows."""

HELP_END = (
    "`%chat help COMMAND` says more of one. `-c NAME` before or after any command: the chat it applies to"
    " (default: `main`)."
)

HELP_FLAGS = frozenset({"--help", "-h"})
"""What prints the help of a command instead of running it."""

CONTINUES_CHAT = (
    "A turn of an earlier kernel or of a map, given by its id, first continues its chat: as this one if this one is"
    " empty, else beside it."
)
"""What the help of commands ends with that do so."""

COMMANDS: dict[str, Command] = {**TABLE, "help": Command(help_command, SETTINGS, values=("command",), arguments="own")}
"""All commands by their names."""
