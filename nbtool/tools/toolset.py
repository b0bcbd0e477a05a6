"""Toolsets: look-up by name, enabling and disabling, and prompt rules."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from nbtool.argument_check import check_answer, check_arguments
from nbtool.errors import BadUsage, UnknownTool
from nbtool.text import list_names, shorten
from nbtool.tools.approval import Policy
from nbtool.tools.tool import Tool, as_tools
from nbtool.tools.tool_views import (
    ApprovedTools,
    FilteredTools,
    PrefixedTools,
    Rule,
    ToolSource,
    find_tool,
    on_demand_rules,
)

MAX_NAMED = 20
"""Maximum number of names listed in an error about an unknown tool."""

FACTORY_ATTRIBUTE = "__nbtool_toolset__"
"""Marks a function that returns a toolset, so that the function can be passed in place of the toolset."""

Rules = str | Callable[[tuple[str, ...]], str]
Factory = TypeVar("Factory", bound=Callable[..., Any])

_INDEX = """\
More rules are kept as variables; read one with ReadVar when it applies:
| variable | content | when to read it |
|---|---|---|
"""


@check_arguments
class Toolset:
    """A named set of tools; added to another set, it replaces the one of the same `name` there.

    Args:
        name: of the set, as errors say it.
        tools: functions, methods, classes, objects, tools and other toolsets.
        rules: a text for the system prompt, or a function of the names of the enabled tools that returns one; it is
            omitted if no tool is enabled. "" adds nothing.
        on_demand: rules that are only listed in the prompt, and read by the model when needed.
    """

    def __init__(
        self, name: str = "tools", tools: Iterable[Any] = (), *, rules: Rules = "", on_demand: Iterable[Rule] = ()
    ) -> None:
        self.name = name
        self._rules = rules
        self._on_demand = tuple(on_demand)
        self._own_tools: dict[str, Tool] = {}
        self._sources: list[ToolSource] = []
        self._disabled: set[str] = set()
        self.add(*tools)

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the tools to their current state."""
        own_tools, sources, disabled = dict(self._own_tools), list(self._sources), set(self._disabled)

        def put_back() -> None:
            self._own_tools, self._sources, self._disabled = own_tools, sources, disabled

        return put_back

    @property
    def sources(self) -> tuple[ToolSource, ...]:
        """The toolsets contained in this one."""
        return tuple(self._sources)

    def has_own(self, name: str) -> bool:
        """Whether a tool belongs to this set itself, not to a contained one."""
        return name in self._own_tools

    def all_tools(self) -> dict[str, Tool]:
        """Return all tools by name, including disabled ones."""
        return self._merge_tools()

    def add(self, *items: Any) -> tuple[str, ...]:
        """Add the tools of `items` and return their names; a redefined function replaces its previous version.

        Of the items none replaces another one.

        Raises:
            BadUsage: the name belongs to another tool, two items have different tools of one name, or one is no tool.
        """
        names: list[str] = []
        beside: list[ToolSource] = []
        for position, item in enumerate(items):
            if any(item is other for other in items[:position]):
                continue
            source = as_tool_source(item)
            names += self._add_own(item, names) if source is None else self._add_source(source, beside)
            beside += [source] if source else []
        return tuple(dict.fromkeys(names))

    def _add_own(self, item: Any, taken: Collection[str]) -> list[str]:
        """Add tools to this set itself; one that has a `taken` name is not replaced."""
        added = as_tools(item)
        for tool in added:
            self._check_name_free(tool, taken)
        if isinstance(item, type) or not (callable(item) or isinstance(item, Tool)):
            self._drop_class(added[0].origin.rpartition(".")[0])
        self._own_tools.update((tool.name, tool) for tool in added)
        return [tool.name for tool in added]

    def remove(self, name: str) -> None:
        """Remove a tool, or a whole source by its name.

        Raises:
            UnknownTool: no tool or source has this name.
        """
        if any(source.name == name for source in self._sources):
            self._sources = [source for source in self._sources if source.name != name]
        elif self._own_tools.pop(name, None) is None:
            raise unknown_tool(name, self._merge_tools())

    def enable(self, *names: str) -> None:
        """Enable tools; raises as `remove`."""
        self._disabled -= set(self._check_names(names))

    def disable(self, *names: str) -> None:
        """Disable tools: they are not sent to the model and cannot be called; raises as `remove`."""
        self._disabled |= set(self._check_names(names))

    def get(self, name: str) -> Tool:
        """Return the tool with this name.

        Raises:
            UnknownTool: no enabled tool has this name; the message lists existing names.
        """
        tool = self._find(name) if type(self) is Toolset else find_tool(self, name)
        if tool is None:
            raise unknown_tool(name, self.tools())
        return tool

    def find(self, name: str) -> Tool | None:
        """Return the enabled tool with this name, without a look at the others of this set; None if there is none."""
        return self._find(name)

    def _find(self, name: str) -> Tool | None:
        if name in self._disabled:
            return None
        found = self._own_tools.get(name)
        for source in self._sources:
            tool = source._find(name) if type(source) is Toolset else find_tool(source, name)
            if found and tool and not _is_same(found, tool):
                raise _collision(found, tool, self.name)
            found = found or tool
        return found

    def tools(self) -> dict[str, Tool]:
        """Return the enabled tools, by name."""
        tools = self._merge_tools()
        for name in self._disabled:
            tools.pop(name, None)
        return tools

    def rules(self) -> str:
        """Return the rules of this set and of the contained sets that have an enabled tool."""
        names = tuple(name for name in self._own_tools if name not in self._disabled)
        own_rules = self._own_rules(names) if self.tools() else ""
        index = _INDEX + "\n".join(rule.row for rule in self._on_demand) if self._on_demand and self.tools() else ""
        texts = (own_rules, index, *(source.rules() for source in self._sources))
        return "\n\n".join(dict.fromkeys(text for text in texts if text))  # two views of one set have the same

    def on_demand(self) -> tuple[Rule, ...]:
        """Return the on-demand rules of this set and of the contained sets, as `rules` does."""
        own_rules = self._on_demand if self.tools() else ()
        return (*own_rules, *(rule for source in self._sources for rule in on_demand_rules(source)))

    def filtered(self, keep: Callable[[Tool], bool] | str | Iterable[str]) -> FilteredTools:
        """Return a view of this set with the tools of these names (`read_*` too), or those `keep` accepts."""
        return FilteredTools(self, keep)

    def prefixed(self, prefix: str) -> PrefixedTools:
        """Return a view of this set with `prefix` before every name."""
        return PrefixedTools(self, prefix)

    def approved(self, policy: Policy) -> ApprovedTools:
        """Return a view of this set with another policy."""
        return ApprovedTools(self, policy)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools().values())

    def __len__(self) -> int:
        return len(self.tools())

    def __contains__(self, name: object) -> bool:
        return name in self.tools()

    def __repr__(self) -> str:
        return f"Toolset({self.name!r}, {', '.join(self.tools()) or 'empty'})"

    def _own_rules(self, names: tuple[str, ...]) -> str:
        if isinstance(self._rules, str):
            return self._rules
        text: str = check_answer(f"The function rules= of the toolset {self.name!r}", str, self._rules(names))
        return text

    def _merge_tools(self) -> dict[str, Tool]:
        merged = dict(self._own_tools)
        for source in self._sources:
            tools = source.tools()
            if merged.keys().isdisjoint(tools):
                merged.update(tools)
                continue
            for name, tool in tools.items():
                if (existing := merged.setdefault(name, tool)) is not tool and not _is_same(existing, tool):
                    raise _collision(existing, tool, self.name)
        return merged

    def _check_names(self, names: Iterable[str]) -> Iterator[str]:
        tools = self._merge_tools()
        for name in names:
            if name not in tools:
                raise unknown_tool(name, tools)
            yield name

    def _add_source(self, source: ToolSource, beside: Sequence[ToolSource]) -> tuple[str, ...]:
        """Add a source in place of the one with its name, unless that is one of `beside`."""
        others = [
            other
            for other in self._sources
            if other.name != source.name or any(other is tool_source for tool_source in beside)
        ]
        existing = {**self._own_tools, **{name: tool for other in others for name, tool in other.tools().items()}}
        for name, tool in source.tools().items():
            if name in existing and not _is_same(existing[name], tool):
                raise _collision(existing[name], tool, self.name)
        self._sources = [*others, source]
        return tuple(source.tools())

    def _drop_class(self, origin: str) -> None:
        """Remove the methods of a class that is added again: it may have fewer now."""
        self._own_tools = {
            name: tool for name, tool in self._own_tools.items() if tool.origin.rpartition(".")[0] != origin
        }

    def _check_name_free(self, tool: Tool, taken: Collection[str]) -> None:
        existing = self._merge_tools().get(tool.name)
        if existing is None or _is_same(existing, tool):
            return
        is_own = tool.name in self._own_tools and tool.name not in taken
        if not is_own or existing.origin != tool.origin:
            raise _collision(existing, tool, self.name)


def toolset_factory(function: Factory) -> Factory:
    """Mark a function without arguments that returns a toolset, so that it can be passed in place of the toolset."""
    setattr(function, FACTORY_ATTRIBUTE, True)
    return function


def as_tool_source(obj: Any) -> ToolSource | None:
    """Return the object as a toolset, calling it if it is a toolset factory; None if it is neither."""
    source = obj() if FACTORY_ATTRIBUTE in getattr(obj, "__dict__", {}) else obj
    return source if isinstance(source, (Toolset, ToolSource)) else None  # the class first: a protocol takes long


def unknown_tool(name: str, tools: Iterable[str]) -> UnknownTool:
    """Return the error for an unknown tool name, with similar names or else all names."""
    names = sorted(tools)
    near = difflib.get_close_matches(name[:64], names, n=3)
    fix = f"Did you mean {' or '.join(near)}?" if near else f"Tools: {list_names(names, MAX_NAMED) or 'none'}."
    return UnknownTool(f"There is no tool {shorten(name, 64)!r}.", fix=fix)


def _is_same(first: Tool, second: Tool) -> bool:
    """Whether two tools are one: the same function, object and options."""
    if first is second:
        return True
    if first.is_builtin and second.is_builtin:
        return (first.identity, first.digest, first.policy) == (second.identity, second.digest, second.policy)
    options = (first.policy, first.timeout, first.thread, first.executor, first.store_as)
    return _same_function(first.function, second.function) and options == (
        second.policy, second.timeout, second.thread, second.executor, second.store_as
    )  # fmt: skip


def _same_function(first: Any, second: Any) -> bool:
    if isinstance(first, partial) and isinstance(second, partial):
        arguments = (*first.args, *first.keywords.items()), (*second.args, *second.keywords.items())
        return arguments == ((), ()) and _same_function(first.func, second.func)
    owners = getattr(first, "__self__", None), getattr(second, "__self__", None)
    functions = getattr(first, "__func__", first), getattr(second, "__func__", second)
    return owners[0] is owners[1] and functions[0] is functions[1]


def _collision(first: Tool, second: Tool, toolset_name: str) -> BadUsage:
    item, other = first.qualified_name or first.origin, second.qualified_name or second.origin
    both = f"{item} and {other}" if item != other else f"{item}, of two objects or definitions"
    return BadUsage(
        f"Two tools are named {first.name!r} in the toolset {toolset_name!r}: {both}.",
        fix='Rename one with tool(name=...), or use toolset.prefixed(...): Toolset("b", [b]).prefixed("b_").',
    )
