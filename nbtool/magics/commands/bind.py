"""`%chat bind`: bind a stored result to a name in the notebook."""

from __future__ import annotations

import shlex

from nbtool.errors import BadUsage, UnknownReference
from nbtool.magics.commands.context import Command, CommandContext
from nbtool.magics.notebook.bind import bind_reference
from nbtool.magics.notebook.cell_source import CellSource
from nbtool.tools.variables.references import Reference, parse

REPLACE = "--replace"


def bind(context: CommandContext, args: list[str]) -> str:
    """Bind the result of a call, the object itself, to a name: `bind REFERENCE [NAME] [--replace]`."""
    match [arg for arg in args if arg != REPLACE]:
        case [reference, *name] if len(name) < 2:
            names = context.kernel.shell.user_ns
            try:
                bound = bind_reference(context.chat, reference, names, *name, replace=REPLACE in args)
            except UnknownReference as error:
                raise _with_chat_hint(context, reference, error) from None
            return f"Bound {bound} in the notebook."
        case _:
            raise BadUsage("%chat bind takes a reference and a name, if any.", fix="`%chat bind price_1_result prices`")


COMMANDS: dict[str, Command] = {"bind": bind}


def _with_chat_hint(context: CommandContext, reference: str, error: UnknownReference) -> UnknownReference:
    """Return the error with the chat that was searched, and the other chats of this kernel that have the variable."""
    name = _variable_name(reference)
    others = [
        other
        for other, chat in context.kernel.chats.items()
        if other != context.name and any(entry.name == name for entry in chat.variables.list_entries())
    ]
    where = f"In the chat {context.name!r}: {error.message}"
    if not others:
        return UnknownReference(where, fix=error.fix)
    lines = " or ".join(
        f"`{CellSource(other, context.kernel.magic).line(f'bind {shlex.quote(reference)}')}`" for other in others
    )
    return UnknownReference(where, fix=f"It is in another chat: {lines}.")


def _variable_name(reference: str) -> str:
    """Return the variable name at the start of a reference, or `reference` unchanged if there is none."""
    try:
        parsed = parse(reference)
    except UnknownReference:
        return reference
    return next((part.name for part in parsed if isinstance(part, Reference)), reference)
