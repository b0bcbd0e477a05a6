"""`%chat bind`: bind a stored result to a name in the notebook."""

from __future__ import annotations

import shlex
from contextlib import suppress

from nbtool.chat.chat import Chat
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, UnknownReference
from nbtool.magics.commands.context import CommandContext, find_turn
from nbtool.magics.names.continued_chat import called_and_absent, steps
from nbtool.magics.names.earlier_names import Needs
from nbtool.magics.names.recorded_result import recorded_result
from nbtool.magics.names.result_binding import bind_reference, bind_value
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.text import with_article
from nbtool.tools.variables.references import Reference, parse
from nbtool.turn_state import Call

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


def _bind(context: CommandContext, reference: str, name: list[str], args: list[str], turn: str = "") -> str:
    names = context.kernel.shell.user_ns
    try:
        bound = bind_reference(context.chat, reference, names, *name, replace=REPLACE in args)
    except UnknownReference as error:
        return _bind_recorded(context, reference, name, args, turn, error)
    return f"Bound {bound} in the notebook."


def _bind_recorded(
    context: CommandContext, reference: str, name: list[str], args: list[str], turn: str, error: UnknownReference
) -> str:
    """Bind what the journal has of a result whose object was lost with an earlier kernel.

    Raises:
        UnknownReference: it has nothing, or a part only; the error names the command that helps.
        BadUsage: the name is invalid or taken.
    """
    lost = _call_of_lost_result(context.chat, reference, turn)
    recorded = recorded_result(lost[1]) if lost else None
    if lost is None or recorded is None:
        raise _with_chat_hint(context, reference, error, turn) from None
    names, (chosen,) = context.kernel.shell.user_ns, name or [reference]
    former = names.get(chosen)
    is_same = type(former) is type(recorded.value) and former == recorded.value  # of a former run of this cell
    bound = bind_value(recorded.value, names, chosen, replace=is_same or REPLACE in args)
    if not recorded.is_text:
        return f"Bound {bound} in the notebook: {recorded.description}. {_where_object_is(context.chat.chat_id)}"
    other = f", not {with_article(recorded.type_name)}" if recorded.type_name else ""
    return f"Only {recorded.description} is left: `{bound}` is a str{other}.\n{_compute_again(context, lost[0])}"


def _where_object_is(chat_id: str) -> str:
    if use_chat(chat_id):
        return "Its object was lost with the earlier kernel."
    return "Its object is in the other kernel that has this chat open."


def _call_of_lost_result(chat: Chat, name: str, turn_id: str) -> tuple[Turn, Call] | None:
    """Return the call of an earlier kernel whose result had this name, and its turn: the one with an id, if given."""
    turns = (turn for node in chat.tree.nodes() for turn in node.versions if turn.turn_id.startswith(turn_id))
    calls = ((turn, call) for turn in turns for call in turn.calls if call.dead_reference)
    return next((found for found in calls if found[1].dead_reference == name), None)


def _compute_again(context: CommandContext, turn: Turn) -> str:
    """Return the steps that compute the results of a turn of an earlier kernel again."""
    command = context.cells.action("code", turn)
    code = f"`{command}` writes the calls of its turn as a cell; run that to compute it again."
    absent = called_and_absent(context.chat, turn, context.kernel.shell.user_ns)
    return steps(Needs(frozenset(absent)), code.removesuffix(".")) if absent else code


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
        with suppress(BadUsage):  # no such turn
            return UnknownReference(where, fix=_compute_again(context, find_turn(context.chat, [turn])))
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


def _turn_of_lost_result(chat: Chat, name: str) -> str:
    """Return the id of the turn whose result had this name in an earlier kernel; empty if there is none."""
    turns = (turn for node in chat.tree.nodes() for turn in node.versions)
    return next((turn.turn_id for turn in turns if any(call.dead_reference == name for call in turn.calls)), "")
