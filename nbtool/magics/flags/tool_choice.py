"""Which tools an argument of `-t` or `-T` selects: all of a name, one of a toolset (`NAME.TOOL`), or a pattern."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import FunctionType, MethodType, ModuleType
from typing import Any

from nbtool.errors import BadUsage, UnknownTool
from nbtool.text import count_of, list_names, shorten
from nbtool.tools.functions import name_of
from nbtool.tools.tool import MAX_METHODS, TOOL_ATTRIBUTE, Tool, as_named_tool, as_tools, count_methods
from nbtool.tools.tool_views import FilteredTools, ToolSource
from nbtool.tools.toolset import as_tool_source

MAX_NAMES = 20
"""Tool names listed in an error."""

MAX_NEAR = 3
"""Similar names suggested in an error."""

MAX_WORD = 64
"""Characters of a mistyped word that are compared and shown."""

NEAR = 0.6
"""How much of a word has to be the same for a name to be proposed."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one argument of `-t` adds to a chat: `names` remove it again; without `patterns` it adds all tools.

    `absence` is why the notebook has it no longer: it is added again as soon as the notebook has it.
    """

    names: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    absence: str = ""


def matches(tool: Tool, pattern: str) -> bool:
    """Return whether a pattern matches a tool, by its name or the end of its origin (`server.tool`)."""
    parts = tool.origin.split(".")
    ends = (".".join(parts[at:]) for at in range(len(parts)))
    return any(fnmatchcase(name, pattern) for name in (tool.name, tool.display_name, *ends))


def choose_tools(name: str, thing: Any, patterns: Sequence[str]) -> list[Any]:
    """Return the source of a toolset for an object, restricted to the tools that patterns select.

    Raises:
        BadUsage: the object is data, or a pattern matches none of its tools.
    """
    source = as_tool_source(thing)
    if source is None and not callable(thing):
        _refuse_data(name, thing, patterns)
    if not patterns:
        return [_under_its_name(name, thing) if source is None else source]
    if source is not None:
        available = list(source.tools().values())
        for pattern in patterns:
            if not any(matches(tool, pattern) for tool in available):
                raise _no_match(name, pattern, short_names(available))
        return [FilteredTools(source, lambda tool: any(matches(tool, pattern) for pattern in patterns))]
    members = _members(thing)
    selected = dict.fromkeys(
        member
        for pattern in patterns
        for member in _matching_members(name, pattern, members)
        if not member.startswith("_")
    )
    return [tool for member in selected for tool in as_tools(getattr(thing, member))]


def _under_its_name(name: str, thing: Any) -> Any:
    """Return a function under the name by which cells mention it, where that is not its own: the model knows that one.

    Names of several tools, as of a class or an instance with its methods, stay as they are.
    """
    is_function = callable(thing) and not isinstance(thing, type | Tool)
    return as_named_tool(thing, name) if is_function and name.isidentifier() and name != name_of(thing) else thing


def short_names(tools: Iterable[Tool]) -> list[str]:
    """Return tool names without the prefix of their toolset."""
    return [tool.display_name.partition(".")[2] or tool.display_name for tool in tools]


def all_sources(things: Iterable[Any]) -> list[ToolSource]:
    """Return the toolsets among the things of a notebook, and those in them."""
    own = [thing for thing in things if isinstance(thing, ToolSource) and type(thing).__module__.startswith("nbtool.")]
    return [source for tool_source in own for source in (tool_source, *getattr(tool_source, "sources", ()))]


def find_source(name: str, things: Iterable[Any]) -> ToolSource | None:
    """Find a toolset by its own name among the objects of a notebook and the toolsets inside them."""
    return next((source for source in all_sources(things) if source.name == name), None)


def is_called(source: ToolSource, name: str) -> bool:
    """Whether a toolset has this name, or a name that begins with this word: `files in data` is called `files`."""
    return name in (source.name, source.name.partition(" ")[0])


def sources_inside(source: ToolSource) -> list[ToolSource]:
    """Return a toolset and those in it, at any depth."""
    return [source, *(tool_source for inner in getattr(source, "sources", ()) for tool_source in sources_inside(inner))]


def find_server_tool(name: str, things: Iterable[Any]) -> Tool | None:
    """Find a server's tool by the name that the model knows it by."""
    tools = (source.tools().get(name) for source in all_sources(things))
    return next((tool for tool in tools if tool and tool.qualified_name), None)


def spellings(names: Mapping[str, Any]) -> dict[str, str]:
    """Return what a person may have meant by a word of `-t`, each spelling with the name to propose."""
    spelled: dict[str, str] = {}
    for source in all_sources(names.values()):
        owner = next((name for name, value in names.items() if value is source), source.name)
        spelled[owner] = owner
        spelled |= tool_spellings(source.tools().values(), owner)
    own = [
        name
        for name, value in names.items()
        if callable(value) or as_tool_source(value) is not None or type(value).__module__ == "__main__"
    ]
    return spelled | {name: name for name in own}


def tool_spellings(tools: Iterable[Tool], owner: str = "") -> dict[str, str]:
    """Return the names that tools may be called by, each with the one that a person types."""
    spelled: dict[str, str] = {}
    for tool, short in ((tool, short_names([tool])[0]) for tool in tools):
        typed = tool.qualified_name or (f"{owner}.{short}" if owner else tool.name)
        spelled |= dict.fromkeys((short, tool.name, typed), typed)
    return spelled


def near_names(word: str, spelled: Mapping[str, str]) -> list[str]:
    """Return the names that a mistyped word is near to, best first; another case is a slip too."""
    lower = {name.lower(): typed for name, typed in spelled.items()}
    whole, last = word[:MAX_WORD], word[:MAX_WORD].rpartition(".")[2]
    near: dict[str, None] = {}
    for part, names in ((whole, spelled), (whole.lower(), lower), (last, spelled), (last.lower(), lower)):
        matches = difflib.get_close_matches(part, names, n=MAX_NEAR, cutoff=NEAR)
        near |= dict.fromkeys(names[match] for match in matches)
    return list(near)[:MAX_NEAR]


def describe_unmarked(words: Iterable[str], names: Mapping[str, Any], offered: Iterable[Tool]) -> str:
    """Return how to mention the tools that a prompt names in plain backticks and that the chat does not offer."""
    has = {spelling for tool in offered for spelling in tool_spellings([tool])}
    typed = {name: {name: None} for name, value in names.items() if _is_declared_tool(value)}
    for source in all_sources(names.values()):
        for spelling, mention in tool_spellings(source.tools().values()).items():
            typed.setdefault(spelling, {})[mention] = None
    return " ".join(
        f"`{word}` is only text here: {' or '.join(f'&`{name}`' for name in typed[word])} gives the model that tool."
        for word in words
        if word in typed and word not in has and (word not in names or _is_declared_tool(names[word]))
    )


def _is_declared_tool(value: Any) -> bool:
    """Return whether a value was made by `@tool`; any other function is one only by `-t` or a mention."""
    return isinstance(value, Tool) or TOOL_ATTRIBUTE in getattr(value, "__dict__", {})


def unknown_word(word: str, tools: Iterable[Tool]) -> UnknownTool:
    """Return the error for an argument of `-T` that matches no tool of the chat, with names that a person types."""
    available = list(tools)
    near = near_names(word, tool_spellings(available))
    listing = list_names(sorted(tool.display_name for tool in available), MAX_NAMES)
    fix = f"Did you mean {' or '.join(near)}?" if near else f"This chat's tools: {listing or 'none'}."
    return UnknownTool(f"There is no tool {shorten(word, MAX_WORD)!r} in this chat.", fix=fix)


def _refuse_data(name: str, thing: Any, patterns: Sequence[str]) -> None:
    """Refuse objects that are data and not tools: plain values, frames and arrays, modules."""
    kind = type(thing)
    is_module = isinstance(thing, ModuleType)
    is_library = kind.__module__.partition(".")[0] in sys.stdlib_module_names and kind.__module__ != "__main__"
    if isinstance(thing, list | tuple | set | frozenset | dict):
        _refuse_tools_inside(name, thing)
    count = count_methods(thing)
    if (patterns and (is_module or count)) or not (is_module or is_library or count > MAX_METHODS):
        return
    if is_module:
        raise BadUsage(
            f"{name!r} is a module, not a tool.", fix=f"`-t {name}.FUNCTION` makes one of its functions a tool."
        )
    methods = f" with {count_of(count, 'method')}" if count > MAX_METHODS else ""
    text = f"; `-t {name}.METHOD` makes one method a tool" if count else ""
    fix = f"Expose it with -v: `-v {name}` lets tools use it by reference{text}."
    raise BadUsage(f"{name!r} is data ({kind.__name__}{methods}), not a tool.", fix=fix)


def _refuse_tools_inside(name: str, things: Any) -> None:
    """Refuse a collection of tools: `-t` takes the name of each, or a toolset of them."""
    items = f"{name}.values()" if isinstance(things, dict) else name
    inside = things.values() if isinstance(things, dict) else things
    if not any(isinstance(thing, FunctionType | MethodType | Tool | ToolSource) for thing in inside):
        return
    raise BadUsage(
        f"{name!r} is a {type(things).__name__} of tools, not a tool.",
        fix=f"Name each tool, as in `-t first second`, or make a toolset: `from nbtool import Toolset` and "
        f"`{name} = Toolset({name!r}, {items})`.",
    )


def _members(thing: Any) -> list[str]:
    owner = thing if isinstance(thing, ModuleType) else type(thing)
    return [name for name in dir(owner) if not name.startswith("_") and callable(inspect.getattr_static(owner, name))]


def _matching_members(name: str, pattern: str, members: Sequence[str]) -> list[str]:
    matches = [member for member in members if fnmatchcase(member, pattern)]
    if not matches:
        raise _no_match(name, pattern, members)
    return matches


def _no_match(name: str, pattern: str, names: Sequence[str]) -> BadUsage:
    near = difflib.get_close_matches(pattern, names, n=MAX_NEAR, cutoff=0.5)
    listing = list_names(sorted(names), MAX_NAMES) or "none"
    fix = f"Did you mean {' or '.join(f'{name}.{text}' for text in near)}?" if near else f"Its tools: {listing}."
    return BadUsage(f"{name!r} has no tool {pattern!r}.", fix=fix)
