"""`%chat undo`: put back what a turn changed in the notebook, or restore what was deleted from the conversation."""

from __future__ import annotations

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.cell.notebook_session import notebook_of_cell
from nbtool.magics.commands.context import CommandContext, find_turn
from nbtool.magics.commands.turns.branches import count_versions, turn_label
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views.shown_turns import shown_turns

REPLACE = "--replace"


def undo(context: CommandContext, args: list[str]) -> str:
    """Undo what a turn did to names and cells: `undo [TURN]`.

    Without TURN, what was done last: a deletion from the conversation, or what the last turn changed. Names and cells
    that you have changed since are left alone; `--replace` overwrites such names.
    """
    turns = [arg for arg in args if arg != REPLACE]
    if len(turns) > 1:
        raise BadUsage(f"%chat undo takes one turn, not {' '.join(turns)!r}.", fix="`%chat undo [TURN] [--replace]`")
    chat = context.chat
    turn = find_turn(chat, turns) if turns else _last_changing(context, chat)
    if turn is None:
        return _restore_deleted(chat)
    return undo_turn(context, turn, replace=REPLACE in args)


def undo_turn(context: CommandContext, turn: Turn, *, replace: bool = False) -> str:
    """Put back what a turn changed, and return what was done and what was not.

    Raises:
        BadUsage: the turn still runs, or nothing of it can be put back.
    """
    if not turn.done.done():
        raise BadUsage("This turn still runs.", fix="Stop it, or wait until it has ended.")
    kernel = context.kernel
    changes, command = kernel.names.changes, undo_command(context, turn)
    with notebook_of_cell(kernel.shell, kernel.magic) as notebook:
        done = changes.undo(turn.turn_id, replace=replace, notebook=notebook, command=command)
    can_undo = changes.find(turn.turn_id) is not None
    shown_turns.update_undone(turn.turn_id, f"Undone: {done[:1].lower()}{done[1:]}", can_undo=can_undo)
    return f"Undid {turn_label(context.chat, turn)}: {done}"


def undo_command(context: CommandContext, turn: Turn) -> str:
    """Return the line that undoes what a turn changed."""
    return CellSource(context.name, context.kernel.magic).action("undo", turn)


def _last_changing(context: CommandContext, chat: Chat) -> Turn | None:
    """Return the turn that changed the notebook last, unless something was deleted from the conversation after it."""
    versions = {version.turn_id: version for node in chat.tree.nodes() for version in node.versions}
    changes = context.kernel.names.changes
    turn_id = changes.latest(versions)
    recorded = changes.find(turn_id)
    return versions[turn_id] if recorded and recorded.last_deletion == chat.tree.last_deletion else None


def _restore_deleted(chat: Chat) -> str:
    before = count_versions(chat)
    chat.undo()
    back = count_versions(chat) - before
    return f"Restored {back} {'version' if back == 1 else 'versions'}."
