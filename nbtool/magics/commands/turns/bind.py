"""`%chat bind`: bind a stored result to a name in the notebook."""

from __future__ import annotations

import shlex
from contextlib import suppress

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage, UnknownReference
from nbtool.magics.commands.context import Command, CommandContext, find_turn
from nbtool.magics.names.earlier_names import format_names
from nbtool.magics.names.name_restoration import called_and_absent
from nbtool.magics.names.result_binding import bind_reference
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.tools.variables.references import Reference, parse

REPLACE = "--replace"
TURN = "--turn"
USAGE = "`%chat bind price_1_result prices`, or with `--turn TURN` a result of that turn"


def bind(context: CommandContext, args: list[str]) -> str:
    """Bind a result to a name: `bind REFERENCE [NAME]`.

    The object itself; `--replace` replaces an existing name, `--turn TURN` selects the turn that has it.
    """
    match [arg for arg in args if arg != REPLACE]:
        case [reference, *name, flag, turn] if flag == TURN and len(name) < 2:
            return _bind(context, reference, name, args, turn)
        case [reference, *name] if len(name) < 2 and TURN not in args:
            return _bind(context, reference, name, args)
        case _:
            raise BadUsage("%chat bind takes a reference and a name, if any.", fix=USAGE)


COMMANDS: dict[str, Command] = {"bind": bind}


def _bind(context: CommandContext, reference: str, name: list[str], args: list[str], turn: str = "") -> str:
    names = context.kernel.shell.user_ns
    try:
        bound = bind_reference(context.chat, reference, names, *name, replace=REPLACE in args)
    except UnknownReference as error:
        raise _with_chat_hint(context, reference, error, turn) from None
    return f"Bound {bound} in the notebook."


def _with_chat_hint(context: CommandContext, reference: str, error: UnknownReference, turn: str) -> UnknownReference:
    """Return the error with the chat that was searched, and the command that helps.

    That is the command for another chat of this kernel that has the variable, or for the code of the turn that had it.
    """
    name = _variable_name(reference)
    turn = turn or _turn_of_lost_result(context.chat, name)
    others = [
        other
        for other, chat in context.kernel.chats.items()
        if other != context.name and any(entry.name == name for entry in chat.variables.list_entries())
    ]
    where = f"In the chat {context.name!r}: {error.message}"
    if not others and turn:
        line = CellSource(context.name, context.kernel.magic).line(f"code {shlex.quote(turn)}")
        absent = _absent_functions(context, turn)
        first = f"Run the cells that define {format_names(absent)}, then " if absent else ""
        writes = "writes the calls of its turn as a cell; run that to compute it again."
        return UnknownReference(where, fix=f"{first}`{line}` {writes}")
    if not others:
        return UnknownReference(where, fix=error.fix)
    lines = " or ".join(
        f"`{CellSource(other, context.kernel.magic).line(f'bind {shlex.quote(reference)}')}`" for other in others
    )
    return UnknownReference(where, fix=f"It is in another chat: {lines}.")


def _absent_functions(context: CommandContext, turn: str) -> list[str]:
    """Return the functions that a turn called and that neither the chat nor the notebook has."""
    with suppress(BadUsage):  # no such turn
        return called_and_absent(context.chat, find_turn(context.chat, [turn]), context.kernel.shell.user_ns)
    return []


def _variable_name(reference: str) -> str:
    """Return the variable name at the start of a reference, or `reference` unchanged if there is none."""
    try:
        parsed = parse(reference)
    except UnknownReference:
        return reference
    return next((part.name for part in parsed if isinstance(part, Reference)), reference)


def _turn_of_lost_result(chat: Chat, name: str) -> str:
    """Return the id of the turn whose result had this name in an earlier kernel; empty if there is none."""
    turns = (turn for node in chat.tree.nodes() for turn in node.versions)
    return next((turn.turn_id for turn in turns if any(call.dead_reference == name for call in turn.calls)), "")
