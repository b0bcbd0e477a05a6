"""The names of variables in a cell's flags: each exists, and what is taken away is there."""

from __future__ import annotations

import builtins
from argparse import Namespace as Flags
from collections.abc import Collection

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.inserted_cell import CellSource


def find_variable(names: NotebookNamespace, chat: Chat, name: str, chat_name: str) -> None:
    """Check that the notebook has a variable.

    Raises:
        BadUsage: it has none of this name; for a stored result of the chat, the error names the command that binds it.
        UnknownReference: it has none of this name, which is that of a result that was evicted.
    """
    try:
        names.find(name, "variable")
    except BadUsage as error:
        chat.variables.check_not_evicted(name)
        if not any(entry.name == name and entry.kind != "exposed" for entry in chat.variables.list_entries()):
            raise
        short = name.removesuffix("_result")
        short = f"my_{short}" if short == name or short in vars(builtins) else short
        command = CellSource(chat_name).line(f"bind {name} {short}")
        fix = f"It is stored in the chat: `{command}` makes it the variable {short} of the notebook; "
        raise error.changed(fix=f"{fix}$VAR_REF{{{{{name}}}}} in the prompt is a reference to it.") from None


def check_hidden(flags: Flags, exposed: Collection[str], former: Collection[str]) -> None:
    """Check that `-v !NAME` names what is exposed, or was in an earlier kernel: a misspelled name would stay exposed.

    Raises:
        BadUsage: a name is not exposed.
    """
    for name in flags.hide:
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
