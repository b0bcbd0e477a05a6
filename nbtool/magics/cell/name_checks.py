"""The names of variables in a cell's flags: each exists, and what is taken away is there."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Collection

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.inserted_cell import CellSource


def find_variable(names: NotebookNamespace, chat: Chat, name: str, chat_name: str) -> None:
    """Check that the notebook has a variable, or the chat a result of this name.

    Raises:
        BadUsage: neither has one; for another entry of the chat, and for a result of an earlier kernel, the error names
            the command that binds it.
        UnknownReference: the notebook has none of this name, which is that of a result that was evicted.
    """
    if chat.variables.has_result(name):
        return
    try:
        names.find(name, "variable")
    except BadUsage as error:
        chat.variables.check_not_evicted(name)
        line = CellSource(chat_name).line
        if any(entry.name == name for entry in chat.variables.list_entries()):
            fix = (
                f"It is stored in the chat: `{line(f'bind {name} my_{name}')}` makes it the variable my_{name} of the "
            )
            fix += f"notebook; $VAR_REF{{{{{name}}}}} in the prompt is a reference to it."
        elif any(call.dead_reference == name for turn in chat.tree.all_versions() for call in turn.calls):
            fix = (
                f"It was a result of the earlier kernel: `{line(f'bind {name}')}` makes what is left of it a variable."
            )
        else:
            raise
        raise error.changed(fix=fix) from None


def check_hidden(flags: Flags, chat: Chat, exposed: Collection[str], former: Collection[str]) -> None:
    """Check that `-v !NAME` names what is exposed, or was in an earlier kernel: a misspelled name would stay exposed.

    Raises:
        BadUsage: a name is not exposed.
    """
    for name in flags.hide:
        if name not in exposed and chat.variables.has_result(name):
            raise BadUsage(
                f"`{name}` is the result of a call, which the model has: it cannot be hidden.",
                fix="`%chat hide TURN` leaves the turn of the call out of later prompts.",
            )
        if name not in exposed and name not in former:
            available = f"Exposed: {', '.join(sorted(exposed))}." if exposed else "No variable is exposed."
            raise BadUsage(f"`{name}` is not exposed, so it cannot be hidden.", fix=available)


def check_unread(flags: Flags, chat: Chat, former: Collection[str]) -> None:
    """Check that `--read !NAME` names what may be read: of another variable it would take away more than was meant.

    Raises:
        BadUsage: the values of a variable may not be read.
    """
    unread = {entry.name for entry in chat.exposed_variables() if not entry.is_readable} - {*former}
    if name := next((name for name in flags.unread if name in unread), None):
        raise BadUsage(f"`{name}` is exposed by reference only.", fix=f"`-v !{name}` takes it away.")
