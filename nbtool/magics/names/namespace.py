"""The notebook's names for a chat: exposed variables, attachments, types and results; tools are in `tool_names.py`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from nbtool.chat.attachments import as_media, as_parts
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.names.builtin_names import check_no_builtin
from nbtool.magics.names.earlier_names import EarlierState
from nbtool.magics.names.name_undo import NameChanges
from nbtool.magics.names.tool_names import ToolNames
from nbtool.magics.names.type_expression import parse_type
from nbtool.magics.notebook.cell_context import CellContext
from nbtool.messages import Part


class NotebookNamespace(ToolNames):
    """The names of a running notebook that a chat may use."""

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        super().__init__(names)
        self._bound: dict[str, Any] = {}
        self._bound_by: dict[str, str] = {}
        self.earlier: dict[str, EarlierState] = {}
        self.changes = NameChanges(names)
        self.cell_contexts: dict[str, CellContext | None] = {}

    def attach_notebook(self, chat: Chat) -> None:
        """Have a chat that was made in Python look up exposed names in this notebook, as chats of cells do."""
        chat.variables.attach_notebook(self._names)

    def expose(self, chat: Chat, names: Iterable[str], *, read: bool = False) -> None:
        """Expose variables to a chat; a name refers to its current object at each use, or to a result of that name."""
        for name in names:
            if not chat.variables.has_result(name):
                self.find(name, "variable")
            chat.variables.expose(name, readable=read)

    def attachments(self, args: Iterable[str]) -> list[Part]:
        """Build parts from what a cell attaches: names of the notebook, which have priority, or paths and addresses.

        Raises:
            BadUsage: an argument is neither, or its object cannot be attached.
        """
        parts: list[Part] = []
        for arg in args:
            if arg in self._names:
                parts += as_parts(self._names[arg])
            elif arg.isidentifier() and not Path(arg).exists():
                self.find(arg, "variable or file")
            else:
                parts.append(as_media(arg))
        return parts

    def parse_type(self, text: str | None) -> Any:
        """Return the type of an annotation: names of the notebook or of Python, `[…]`, `.` and `|`; nothing is called.

        Raises:
            BadUsage: it is not a type, or one of its names does not exist.
        """
        return None if text is None else parse_type(text, lambda name: self.find(name, "type"))

    def check_free(self, name: str, *, replace: bool = False) -> None:
        """Check that binding a name overwrites nothing of the person: it is free, or was bound here.

        Raises:
            BadUsage: the name exists, or is that of a builtin, and `replace` is not set.
        """
        check_no_builtin(name, self._names, replace=replace)
        if name not in self._names or replace:
            return
        if not self._is_ours(name):
            raise BadUsage(
                f"`{name}` already exists in this notebook and is not replaced.",
                fix="Choose another name, or add `--set replace_names=true`.",
            )

    def describe_replaced(self, name: str, cell: str) -> str:
        """Describe what a cell replaces if a name has the result of another one; empty for its own result."""
        if name not in self._names or not self._is_ours(name) or self._bound_by.get(name) == cell:
            return ""
        return f"`{name}` now holds this answer."

    def _is_ours(self, name: str) -> bool:
        """Return whether a name has what was bound here."""
        return name in self._bound and self._names[name] is _target(self._bound[name])

    def bind(self, name: str, value: object, *, replace: bool = False, cell: str = "") -> None:
        """Bind a result in the notebook; `cell` is the cell that does.

        Raises:
            BadUsage: as `check_free`.
        """
        self.check_free(name, replace=replace)
        self._names[name] = value
        self._bound[name] = _reference(value)
        self._bound_by[name] = cell

    def is_bound(self, name: str, value: object) -> bool:
        """Return whether a name refers to this very object."""
        return self._names.get(name) is value

    def checkpoint(self, chat: Chat) -> Callable[[], None]:
        """Return a function that restores the current state of a chat and of its tools here."""
        restore, tools, earlier = chat.checkpoint(), dict(self._offers(chat)), dict(self.earlier)

        def put_back() -> None:
            restore()
            self._tools[chat.chat_id] = tools
            self.earlier = earlier

        return put_back


def _reference(value: object) -> Any:
    """Return a weak reference to a value if possible, else a strong one."""
    try:
        return weakref.ref(value)
    except TypeError:  # numbers, strings and lists have no weak references
        return value


def _target(reference: Any) -> Any:
    return reference() if isinstance(reference, weakref.ref) else reference
