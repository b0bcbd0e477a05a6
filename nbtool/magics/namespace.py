"""The notebook's names ⇄ the chat's tools and references; nothing is visible that was not exposed."""

from __future__ import annotations

import ast
import builtins
import difflib
import weakref
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from nbtool.chat.attach import as_media, as_parts
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.noticed import Noticed
from nbtool.messages import Part
from nbtool.tools.toolset import Toolset, source_of
from nbtool.toolsets import standard

STANDARD = "nbtool:"
"""Begins the names of the standard toolsets, which need no cell that imports them."""


NOTES = "nbtool:notes"
"""Lets the model keep notes of its own: WriteVar and RemoveVars, which every chat has for its own variables."""


class Namespace:
    """The names of a running notebook, as far as a chat may use them."""

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        self._names = names
        self._tools: dict[str, dict[str, tuple[str, ...]]] = {}
        self._noticed = Noticed(names)
        self._bound: dict[str, Any] = {}

    def find(self, name: str, wanted: str) -> Any:
        """Give the object of a name.

        Raises:
            BadUsage: there is none; the line names near ones.
        """
        if name in self._names:
            return self._names[name]
        if name == NOTES:
            return NOTES
        if name.startswith(STANDARD):
            return standard(name.removeprefix(STANDARD))
        public = [known for known in self._names if not known.startswith("_")]
        near = difflib.get_close_matches(name, public, n=3, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else "Run the cell that defines it first."
        raise BadUsage(f"There is no {wanted} called {name!r} in this notebook.", fix=hint)

    def to_add(self, chat: Chat, mentioned: Iterable[str], given: Iterable[str]) -> list[str]:
        """Give the mentioned names that are not tools of the chat already, or of a toolset that this cell gives it.

        Raises:
            BadUsage: the notebook has none of such a name.
        """
        coming = Toolset(tools=[self.find(name, "function or toolset") for name in given if name != NOTES])
        offered = {*chat.tools.tools(), *coming.tools()}
        wanted = [name for name in mentioned if name not in offered]
        for name in wanted:
            self.find(name, "function or toolset")
        return wanted

    def add_tools(self, chat: Chat, names: Iterable[str]) -> None:
        """Make functions and toolsets of the notebook tools of a chat."""
        for name in names:
            if name == NOTES:
                chat.keeps_notes = True
                continue
            self._of(chat)[name] = _added(chat, self.find(name, "function or toolset"))

    def remove_tools(self, chat: Chat, names: Iterable[str]) -> None:
        """Take tools away from a chat."""
        for name in names:
            if name == NOTES:
                chat.keeps_notes = False
                continue
            for tool in self._of(chat).pop(name, (name,)):
                chat.tools.remove(tool)

    def is_function(self, name: str) -> bool:
        """Whether the notebook has a function of its own of this name."""
        return callable(found := self._names.get(name)) and not isinstance(found, type)

    def refresh_tools(self, chat: Chat) -> None:
        """Take over tools that a later cell has defined anew; a name that is gone takes its tool away."""
        for name in list(self._of(chat)):
            if name in self._names:
                self._of(chat)[name] = _added(chat, self._names[name])
            elif not name.startswith(STANDARD):
                self.remove_tools(chat, [name])

    def changes(self, chat: Chat) -> str:
        """Say which of the names that a chat uses stand for something else than in its last turn."""
        return self._noticed.since_last(chat, [name for name in self._of(chat) if not name.startswith(STANDARD)])

    def expose(self, chat: Chat, names: Iterable[str], *, read: bool = False) -> None:
        """Expose variables to a chat; a name means whatever it stands for when it is used."""
        for name in names:
            self.find(name, "variable")
            chat.variables.expose(name, readable=read)

    def attached(self, words: Iterable[str]) -> list[Part]:
        """Make parts of what a cell attaches: names of the notebook, which win, or paths and addresses.

        Raises:
            BadUsage: a word is neither, or what it stands for cannot be attached.
        """
        parts: list[Part] = []
        for word in words:
            if word in self._names:
                parts += as_parts(self._names[word])
            elif word.isidentifier() and not Path(word).exists():
                self.find(word, "variable or file")
            else:
                parts.append(as_media(word))
        return parts

    def type_of(self, text: str | None) -> Any:
        """Give the type that is written so: names of the notebook or of Python, `[…]`, `.` and `|`; nothing is called.

        Raises:
            BadUsage: it is no type, or one of its names does not exist.
        """
        if text is None:
            return None
        try:
            return self._type_in(ast.parse(text, mode="eval").body)
        except (SyntaxError, AttributeError, TypeError) as error:
            raise BadUsage(f"--as {text!r} is no type ({error}).", fix="`--as Fruit`, `--as list[Fruit]`") from None

    def _type_in(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return vars(builtins)[name] if name in vars(builtins) else self.find(name, "type")
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements):
                return tuple(map(self._type_in, elements))
            case ast.Attribute(value=owner, attr=name):
                return getattr(self._type_in(owner), name)
            case ast.Subscript(value=of, slice=inside):
                return self._type_in(of)[self._type_in(inside)]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._type_in(left) | self._type_in(right)
        raise BadUsage(f"--as takes a type, not {ast.unparse(node)!r}.", fix="`--as Fruit`, `--as list[Fruit]`")

    def check_free(self, name: str, *, replace: bool = False) -> None:
        """See to it that binding a name takes nothing from the person: it is free, or stands for what was bound here.

        Raises:
            BadUsage: it stands for something else, and `replace` is not set.
        """
        if name not in self._names or replace:
            return
        if name not in self._bound or self._names[name] is not _target(self._bound[name]):
            raise BadUsage(
                f"`{name}` stands for something else in this notebook and is not replaced.",
                fix="Give another name, or add --replace.",
            )

    def bind(self, name: str, value: object, *, replace: bool = False) -> None:
        """Bind a result in the notebook.

        Raises:
            BadUsage: as `check_free`.
        """
        self.check_free(name, replace=replace)
        self._names[name] = value
        self._bound[name] = _reference(value)

    def has(self, name: str, value: object) -> bool:
        """Whether a name stands for this very object."""
        return self._names.get(name) is value

    def checkpoint(self, chat: Chat) -> Callable[[], None]:
        """Give what puts a chat, and what is known of its tools here, back as they are now."""
        restore, tools = chat.checkpoint(), dict(self._of(chat))

        def put_back() -> None:
            restore()
            self._tools[chat.chat_id] = tools

        return put_back

    def _of(self, chat: Chat) -> dict[str, tuple[str, ...]]:
        return self._tools.setdefault(chat.chat_id, {})


def _reference(value: object) -> Any:
    """Refer to a value without keeping it, where it can be."""
    try:
        return weakref.ref(value)
    except TypeError:  # numbers, texts, lists
        return value


def _target(reference: Any) -> Any:
    return reference() if isinstance(reference, weakref.ref) else reference


def _added(chat: Chat, thing: Any) -> tuple[str, ...]:
    """Add a function or a toolset to a chat, and give the names under which it can be removed again."""
    source = source_of(thing)
    if source is None:
        return chat.tools.add(thing)
    chat.tools.add(source)
    return (source.name,)
