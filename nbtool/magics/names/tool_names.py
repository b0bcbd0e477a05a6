"""The tools that cells add to a chat and take away, by the names of the notebook; only added names are visible."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage, UnknownTool
from nbtool.magics.flags.tool_choice import (
    Offer,
    choose_tools,
    describe_unmarked,
    find_server_tool,
    find_source,
    is_called,
    matches,
    near_names,
    short_names,
    sources_inside,
    spellings,
    unknown_word,
)
from nbtool.magics.names.rebinding import RebindingTracker
from nbtool.tools.tool_views import ToolSource
from nbtool.tools.toolset import Toolset, as_tool_source
from nbtool.toolsets import STANDARD, standard

STANDARD_PREFIX = "nbtool:"
"""Prefix of the standard toolsets, which need no import."""


NOTES = "nbtool:notes"
"""The toolset for the model's own notes: WriteVar and RemoveVars, which every chat has for its own variables."""


TOOLS = "function or toolset"
"""What an argument of `-t` names."""


class ToolNames:
    """The names of a running notebook that cells add to chats as tools."""

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        self._names = names
        self._tools: dict[str, dict[str, Offer]] = {}
        self._rebindings = RebindingTracker(names)

    @property
    def objects(self) -> Mapping[str, Any]:
        """The objects of the notebook, by name."""
        return self._names

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
        if is_tool and name in STANDARD:
            near = [f"{STANDARD_PREFIX}{name}"]
        elif is_tool:
            near = near_names(name, spellings(public))
        else:
            near = difflib.get_close_matches(name, public, n=3, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else _how_to_name(name)
        raise BadUsage(f"There is no {wanted} called {name!r} in this notebook.", fix=hint)

    def unregistered(self, chat: Chat, mentioned: Iterable[str], added: Iterable[str]) -> list[str]:
        """Return the mentioned names that are not yet tools of the chat, nor tools that this cell adds to it.

        Raises:
            BadUsage: the notebook does not have such a name, or the tool was removed.
        """
        coming, back = Toolset(), set()
        for arg in added:
            if self._is_disabled(chat, arg):
                back.update(self._chat_tools(chat, arg))
            elif arg != NOTES:
                name, pattern = self._split(arg)
                for thing in choose_tools(name, self._find_tool_object(name), [pattern] if pattern else []):
                    coming.add(thing)
        tools = [*chat.tools.tools().values(), *coming.tools().values()]
        offered = {*(tool.name for tool in tools), *(tool.display_name for tool in tools), *back}
        offered |= {name for name, count in Counter(short_names(tools)).items() if count == 1}
        wanted = [name for name in mentioned if name not in offered and self._may_be_tool(name)]
        for name in wanted:
            if name in chat.tools.all_tools() and self._is_disabled(chat, name):
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
            elif self._is_disabled(chat, arg) or self._is_given(chat, arg):
                chat.tools.enable(*self._chat_tools(chat, arg))
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
            elif offer := self._offers(chat).pop(self._offered_name(chat, arg), None):
                _remove_from_chat(chat, offer)
            elif given := [source.name for source in chat.tools.sources if is_called(source, arg)]:
                for name in given:
                    chat.tools.remove(name)
            else:
                self._disable(chat, arg)

    def has_tool(self, chat: Chat, name: str) -> bool:
        """Whether a name is one of a function, a toolset or a server of the notebook, or of a tool of the chat."""
        if name in self._offers(chat) or name in chat.tools.all_tools() or self._given_sources(chat, name):
            return True
        own = list(self._names.values())
        if name not in self._names:
            return find_source(name, own) is not None or find_server_tool(name, own) is not None
        with suppress(BadUsage):  # it is data
            return bool(choose_tools(name, self._names[name], []))
        return False

    def is_function(self, name: str) -> bool:
        """Return whether the notebook defines a function of this name."""
        return callable(value := self._names.get(name)) and not isinstance(value, type)

    def has_name(self, name: str) -> bool:
        """Return whether the notebook has a variable of this name."""
        return name in self._names

    def refresh_tools(self, chat: Chat) -> None:
        """Update tools that a later cell has redefined; that of a deleted name is away until the name is back."""
        for name, offer in list(self._offers(chat).items()):
            if name.startswith(STANDARD_PREFIX):
                continue
            try:
                things = choose_tools(name, self._find_tool_object(name), offer.patterns)
            except BadUsage as error:
                _remove_from_chat(chat, offer)
                absence = error.message.rstrip(".") if name in self._names else f"`{name}` no longer exists"
                self._offers(chat)[name] = Offer((), offer.patterns, absence)
            else:
                self._offers(chat)[name] = _add_to_chat(chat, things, offer.patterns)

    def describe_unmarked(self, chat: Chat, words: Iterable[str]) -> str:
        """Describe how to mention the tools that a prompt names in plain backticks and that a chat does not offer."""
        return describe_unmarked(words, self._names, chat.tools.tools().values())

    def describe_rebound(self, chat: Chat) -> str:
        """Describe which names that a chat uses refer to other objects than in its last turn."""
        offers = self._offers(chat).items()
        return self._rebindings.changes(
            chat, {name: offer.absence for name, offer in offers if offer.absence or name in self._names}
        )

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
        matching = [name for name, tool in tools.items() if matches(tool, arg)] or self._chat_tools(chat, arg)
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
        is_standard = owner in STANDARD and owner not in self._names
        is_source = as_tool_source(thing) is not None or find_source(owner, self._names.values()) is not None
        return not dot or is_source or is_standard

    def _is_disabled(self, chat: Chat, arg: str) -> bool:
        """Whether an argument names tools of a chat that are all disabled, and nothing of the notebook."""
        found = () if arg in self._names else self._chat_tools(chat, arg)
        return bool(found) and not any(name in chat.tools for name in found)

    def _is_given(self, chat: Chat, arg: str) -> bool:
        """Whether an argument names tools of a toolset that the chat has had from its beginning, not from a cell."""
        owner, pattern = self._split(arg)
        is_own = owner in self._names or owner in self._offers(chat)
        return bool(pattern) and not is_own and bool(self._given_sources(chat, owner))

    def _chat_tools(self, chat: Chat, arg: str) -> list[str]:
        """Return the tools of a chat, disabled ones too, that an argument names: one, or some of a toolset."""
        tools = chat.tools.all_tools()
        if arg in tools:
            return [arg]
        owner, pattern = self._split(arg)
        if not pattern:
            return []
        inside = self._tools_of(chat, owner)
        return [name for name, tool in tools.items() if (name, tool.origin) in inside and matches(tool, pattern)]

    def _tools_of(self, chat: Chat, owner: str) -> set[tuple[str, str]]:
        """Return the tools of a toolset, by name and origin: what was added under its name, and what it contains."""
        sources = self._given_sources(chat, owner)
        with suppress(BadUsage):
            if source := as_tool_source(self._find_tool_object(owner)):
                sources.append(source)
        added, tools = self._offers(chat).get(owner, Offer(())).names, chat.tools.all_tools()
        inside = {(name, tool.origin) for source in sources for name, tool in source.tools().items()}
        return inside | {(name, tools[name].origin) for name in added if name in tools}

    def _given_sources(self, chat: Chat, owner: str) -> list[ToolSource]:
        """Return the toolsets in a chat that are called so."""
        name = owner.removeprefix(STANDARD_PREFIX)
        inside = [tool_source for source in chat.tools.sources for tool_source in sources_inside(source)]
        return [source for source in inside if is_called(source, name)]

    def _offered_name(self, chat: Chat, name: str) -> str:
        """Return the name under which a cell added what an argument names: `files` may be `nbtool:files`."""
        standard_name = f"{STANDARD_PREFIX}{name}"
        is_short = name not in self._offers(chat) and standard_name in self._offers(chat)
        return standard_name if is_short else name

    def _split(self, arg: str) -> tuple[str, str]:
        """Split an argument into a name of the notebook or of a standard toolset, and the selected part of it."""
        if arg in self._names:
            return arg, ""
        if "." not in arg and (tool := find_server_tool(arg, list(self._names.values()))):
            arg = tool.qualified_name
        prefix = STANDARD_PREFIX if arg.startswith(STANDARD_PREFIX) else ""
        name, _, pattern = arg.removeprefix(prefix).partition(".")
        if pattern and name in STANDARD and find_source(name, self._names.values()) is None and not self.has_name(name):
            prefix = STANDARD_PREFIX
        return prefix + name, pattern

    def _find_tool_object(self, name: str) -> Any:
        """Find the object of this name, or the toolset of this name inside another object."""
        if name not in self._names and (source := find_source(name, list(self._names.values()))):
            return source
        return self.find(name, TOOLS, is_tool=True)

    def _offers(self, chat: Chat) -> dict[str, Offer]:
        return self._tools.setdefault(chat.chat_id, {})


def _remove_from_chat(chat: Chat, offer: Offer) -> None:
    for name in offer.names:
        with suppress(UnknownTool):  # it was removed by other means
            chat.tools.remove(name)


def _add_to_chat(chat: Chat, things: Iterable[Any], patterns: tuple[str, ...]) -> Offer:
    """Add functions or a toolset to a chat, and record the names that remove them again."""
    names: list[str] = []
    for thing in things:
        source = as_tool_source(thing)
        added = chat.tools.add(thing if source is None else source)
        names += added if source is None else (source.name,)
    return Offer(tuple(names), patterns)


def _how_to_name(name: str) -> str:
    """Return how to give a name that the notebook does not have: define it, or write one where this is none."""
    if all(part.isidentifier() for part in name.split(".")):
        return "Run the cell that defines it first." if name.isidentifier() else "Assign it to a name first."
    return (
        "Write names, with spaces between them." if "," in name else "Write a name of the notebook, and no expression."
    )
