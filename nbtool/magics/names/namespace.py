"""Maps the notebook's names to the chat's tools and references; only exposed names are visible."""

from __future__ import annotations

import ast
import builtins
import difflib
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from nbtool.chat.attachments import as_media, as_parts
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.flags.tool_choice import (
    Offer,
    choose_tools,
    describe_unmarked,
    find_server_tool,
    find_source,
    matches,
    near_names,
    short_names,
    spellings,
    unknown_word,
)
from nbtool.magics.names.builtin_names import check_no_builtin
from nbtool.magics.names.earlier_names import EarlierState
from nbtool.magics.names.name_undo import NameChanges
from nbtool.magics.names.rebinding import RebindingTracker
from nbtool.magics.notebook.cell_context import CellContext
from nbtool.messages import Part
from nbtool.tools.toolset import Toolset, as_tool_source
from nbtool.toolsets import standard

STANDARD_PREFIX = "nbtool:"
"""Prefix of the standard toolsets, which need no import."""


NOTES = "nbtool:notes"
"""The toolset for the model's own notes: WriteVar and RemoveVars, which every chat has for its own variables."""


TOOLS = "function or toolset"
"""What an argument of `-t` names."""


class NotebookNamespace:
    """The names of a running notebook that a chat may use."""

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        self._names = names
        self._tools: dict[str, dict[str, Offer]] = {}
        self._rebindings = RebindingTracker(names)
        self._bound: dict[str, Any] = {}
        self._bound_by: dict[str, str] = {}
        self.earlier: dict[str, EarlierState] = {}
        self.changes = NameChanges(names)
        self.cell_contexts: dict[str, CellContext | None] = {}

    def find(self, name: str, wanted: str, *, is_tool: bool = False) -> Any:
        """Return the object of a name.

        Raises:
            BadUsage: the name does not exist; the error suggests similar names.
        """
        if name in self._names:
            return self._names[name]
        if name == NOTES:
            return NOTES
        if name.startswith(STANDARD_PREFIX):
            return standard(name.removeprefix(STANDARD_PREFIX))
        public = {key: value for key, value in self._names.items() if not key.startswith("_")}
        if is_tool:
            near = near_names(name, spellings(public))
        else:
            near = difflib.get_close_matches(name, public, n=3, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else "Run the cell that defines it first."
        raise BadUsage(f"There is no {wanted} called {name!r} in this notebook.", fix=hint)

    def unregistered(self, chat: Chat, mentioned: Iterable[str], added: Iterable[str]) -> list[str]:
        """Return the mentioned names that are not yet tools of the chat, nor tools that this cell adds to it.

        Raises:
            BadUsage: the notebook does not have such a name, or the tool was removed.
        """
        coming, back = Toolset(), set()
        for arg in added:
            if self._is_disabled(chat, arg):
                back.add(arg)
            elif arg != NOTES:
                name, pattern = self._split(arg)
                for thing in choose_tools(name, self._find_tool_object(name), [pattern] if pattern else []):
                    coming.add(thing)
        tools = [*chat.tools.tools().values(), *coming.tools().values()]
        offered = {*(tool.name for tool in tools), *(tool.display_name for tool in tools), *back}
        offered |= {name for name, count in Counter(short_names(tools)).items() if count == 1}
        wanted = [name for name in mentioned if name not in offered and self._may_be_tool(name)]
        for name in wanted:
            if self._is_disabled(chat, name):
                raise BadUsage(f"The tool {name!r} was removed from this chat.", fix=f"`-t {name}` adds it again.")
            owner, pattern = self._split(name)
            if pattern:
                choose_tools(owner, self._find_tool_object(owner), [pattern])
            else:
                self.find(name, TOOLS, is_tool=True)
        return wanted

    def add_tools(self, chat: Chat, args: Iterable[str]) -> None:
        """Add functions, toolsets, and single tools of toolsets (`NAME.TOOL`, patterns) to a chat.

        Raises:
            BadUsage: an argument selects no tool, or two select different tools of one name.
        """
        args = tuple(args)
        self._check_distinct(chat, args)
        for arg in args:
            if arg == NOTES:
                chat.keeps_notes = True
            elif self._is_disabled(chat, arg):
                chat.tools.enable(arg)
            else:
                self._add(chat, *self._split(arg))

    def remove_tools(self, chat: Chat, args: Iterable[str]) -> None:
        """Remove tools from a chat: an argument of `-t`, a tool, one of a toolset, or a pattern.

        Raises:
            UnknownTool: an argument matches no tool.
        """
        for arg in args:
            if arg == NOTES:
                chat.keeps_notes = False
            elif offer := self._offers(chat).pop(arg, None):
                for name in offer.names:
                    chat.tools.remove(name)
            elif any(source.name == arg for source in chat.tools.sources):
                chat.tools.remove(arg)
            else:
                self._disable(chat, arg)

    def attach_notebook(self, chat: Chat) -> None:
        """Have a chat that was made in Python look up exposed names in this notebook, as chats of cells do."""
        chat.variables.attach_notebook(self._names)

    def is_function(self, name: str) -> bool:
        """Return whether the notebook defines a function of this name."""
        return callable(value := self._names.get(name)) and not isinstance(value, type)

    def has_name(self, name: str) -> bool:
        """Return whether the notebook has a variable of this name."""
        return name in self._names

    def refresh_tools(self, chat: Chat) -> None:
        """Update tools that a later cell has redefined; the tool of a deleted name is removed."""
        for name, offer in list(self._offers(chat).items()):
            if name.startswith(STANDARD_PREFIX):
                continue
            try:
                thing = self._find_tool_object(name)
                self._offers(chat)[name] = _add_to_chat(chat, choose_tools(name, thing, offer.patterns), offer.patterns)
            except BadUsage:
                if name in self._names:
                    raise
                self.remove_tools(chat, [name])

    def describe_unmarked(self, chat: Chat, words: Iterable[str]) -> str:
        """Describe how to mention the tools that a prompt names in plain backticks and that a chat does not offer."""
        return describe_unmarked(words, self._names, chat.tools.tools().values())

    def describe_rebound(self, chat: Chat) -> str:
        """Describe which names that a chat uses refer to other objects than in its last turn."""
        return self._rebindings.changes(chat, [name for name in self._offers(chat) if name in self._names])

    def _add(self, chat: Chat, name: str, pattern: str) -> None:
        former = self._offers(chat).get(name)
        former_patterns = former.patterns if former else ()
        has_all = not pattern or (former is not None and not former_patterns)
        patterns = () if has_all else tuple(dict.fromkeys((*former_patterns, pattern)))
        things = choose_tools(name, self._find_tool_object(name), patterns)
        self._offers(chat)[name] = _add_to_chat(chat, things, patterns)
        coming = Toolset(tools=choose_tools(name, self._find_tool_object(name), [pattern]) if pattern else things)
        chat.tools.enable(*coming.tools())

    def _check_distinct(self, chat: Chat, args: tuple[str, ...]) -> None:
        """Check that no argument replaces a tool that another one adds; one of a later cell may."""
        names = [self._split(arg) for arg in dict.fromkeys(args) if arg != NOTES and not self._is_disabled(chat, arg)]
        if len(names) > 1:
            chosen = (choose_tools(name, self._find_tool_object(name), [part] if part else []) for name, part in names)
            Toolset("cell", [thing for things in chosen for thing in things])

    def _disable(self, chat: Chat, arg: str) -> None:
        """Disable the tools that an argument selects, so that they stay disabled when their toolset is reloaded."""
        tools = chat.tools.all_tools()
        matching = [name for name, tool in tools.items() if matches(tool, arg)]
        if not matching:
            name, pattern = self._split(arg)
            offer = self._offers(chat).get(name, Offer(()))
            source = as_tool_source(self._names[name]) if pattern and name in self._names else None
            inside = {*offer.names, *(source.tools() if source else ())}
            matching = [name for name, tool in tools.items() if name in inside and matches(tool, pattern)]
        if not matching:
            raise unknown_word(arg, tools.values())
        provided = {name for offer in self._offers(chat).values() for name in offer.names}
        for name in matching:
            if chat.tools.has_own(name) and name not in provided:
                chat.tools.remove(name)
            else:
                chat.tools.disable(name)

    def _may_be_tool(self, name: str) -> bool:
        """Return whether a mention refers to a tool; a dotted name does if it begins with the name of a toolset."""
        owner, dot, _ = name.partition(".")
        thing = self._names.get(owner)
        return not dot or as_tool_source(thing) is not None or find_source(owner, self._names.values()) is not None

    def _is_disabled(self, chat: Chat, arg: str) -> bool:
        return arg not in self._names and arg in chat.tools.all_tools() and arg not in chat.tools

    def _split(self, arg: str) -> tuple[str, str]:
        """Split an argument into a name of the notebook or of a standard toolset, and the selected part of it."""
        if arg in self._names:
            return arg, ""
        if "." not in arg and (tool := find_server_tool(arg, list(self._names.values()))):
            arg = tool.qualified_name
        prefix = STANDARD_PREFIX if arg.startswith(STANDARD_PREFIX) else ""
        name, _, pattern = arg.removeprefix(prefix).partition(".")
        return prefix + name, pattern

    def _find_tool_object(self, name: str) -> Any:
        """Find the object of this name, or the toolset of this name inside another object."""
        if name not in self._names and (source := find_source(name, list(self._names.values()))):
            return source
        return self.find(name, TOOLS, is_tool=True)

    def expose(self, chat: Chat, names: Iterable[str], *, read: bool = False) -> None:
        """Expose variables to a chat; a name refers to its current object at each use."""
        for name in names:
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
        if text is None:
            return None
        try:
            return self._type_in(ast.parse(text, mode="eval").body)
        except (SyntaxError, AttributeError, TypeError) as error:
            raise BadUsage(
                f"--as {text!r} is not a type ({error}).",
                fix="Write a type without quotes: `--as int`, `--as list[str]`, or a class of the notebook.",
            ) from None

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
        raise BadUsage(
            f"--as takes a type, not {ast.unparse(node)!r}.",
            fix="Write a type without quotes: `--as int`, `--as list[str]`, or a class of the notebook.",
        )

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
                fix="Choose another name, or add --replace.",
            )

    def describe_replaced(self, name: str, cell: str) -> str:
        """Describe what a cell replaces if a name has the result of another one; empty for its own result."""
        if name not in self._names or not self._is_ours(name) or self._bound_by.get(name) == cell:
            return ""
        return f"`{name}` held the result of another cell and is replaced; `%chat history` still has every turn."

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

    def _offers(self, chat: Chat) -> dict[str, Offer]:
        return self._tools.setdefault(chat.chat_id, {})


def _reference(value: object) -> Any:
    """Return a weak reference to a value if possible, else a strong one."""
    try:
        return weakref.ref(value)
    except TypeError:  # numbers, strings and lists have no weak references
        return value


def _target(reference: Any) -> Any:
    return reference() if isinstance(reference, weakref.ref) else reference


def _add_to_chat(chat: Chat, things: Iterable[Any], patterns: tuple[str, ...]) -> Offer:
    """Add functions or a toolset to a chat, and record the names that remove them again."""
    names: list[str] = []
    for thing in things:
        source = as_tool_source(thing)
        added = chat.tools.add(thing if source is None else source)
        names += added if source is None else (source.name,)
    return Offer(tuple(names), patterns)
