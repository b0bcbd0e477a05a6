"""Tools under one roof: look-up by name, switches, rules for the prompt, and wrappers that narrow or rename."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar, runtime_checkable

from nbtool.errors import BadUsage, UnknownTool
from nbtool.shorten import shorten
from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.tool import NAME, Tool, as_tools
from nbtool.tools.values.sanitize import single_line

MAX_NAMED = 20
"""Names that an error about an unknown tool lists."""

FACTORY_ATTRIBUTE = "__nbtool_toolset__"
"""What marks a function that makes a toolset, so that its name alone stands for what it makes."""

Rules = str | Callable[[tuple[str, ...]], str]
Factory = TypeVar("Factory", bound=Callable[..., Any])

_INDEX = """\
More rules are kept as variables; read one with ReadVar when its time has come:
| variable | what it says | when to read it |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that is too long for every prompt: the prompt names it, and the model reads it as the variable `name`."""

    name: str
    text: str
    description: str = ""
    read_when: str = "as needed"

    @property
    def row(self) -> str:
        """The rule as a row of the index."""
        cells = (f"`{self.name}`", self.description, self.read_when)
        return f"| {' | '.join(single_line(cell).replace('|', '/') for cell in cells)} |"


@runtime_checkable
class ToolSource(Protocol):
    """Whatever gives tools: a toolset, a wrapper around one, a server."""

    name: str

    def tools(self) -> Mapping[str, Tool]:
        """Give the tools that can be called now, by name."""

    def rules(self) -> str:
        """Give what the prompt should say of them; empty for nothing."""


class Toolset:
    """A named set of tools.

    Takes functions, methods, classes, objects, tools and other toolsets. `rules` is a text for the system prompt, or
    a function of the names that are switched on; it is left out while none is. The rules in `on_demand` are named in
    the prompt and read when they are needed.
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
        for item in tools:
            self.add(item)

    def checkpoint(self) -> Callable[[], None]:
        """Give what puts the tools back as they are now."""
        own_tools, sources, disabled = dict(self._own_tools), list(self._sources), set(self._disabled)

        def put_back() -> None:
            self._own_tools, self._sources, self._disabled = own_tools, sources, disabled

        return put_back

    @property
    def sources(self) -> tuple[ToolSource, ...]:
        """The toolsets in this one."""
        return tuple(self._sources)

    def has_own(self, name: str) -> bool:
        """Whether a tool is of this set itself, and of none in it."""
        return name in self._own_tools

    def all_tools(self) -> dict[str, Tool]:
        """Give all tools by name, those that are switched off too."""
        return self._merge_tools()

    def add(self, item: Any) -> tuple[str, ...]:
        """Add what `item` stands for and give the names; a function defined anew replaces its former self.

        Raises:
            BadUsage: the name belongs to another tool, or `item` is none.
        """
        source = as_tool_source(item)
        if source is not None:
            return self._add_source(source)
        added = as_tools(item)
        for tool in added:
            self._check_name_free(tool)
        if isinstance(item, type) or not (callable(item) or isinstance(item, Tool)):
            self._drop_class(added[0].origin.rpartition(".")[0])
        self._own_tools.update((tool.name, tool) for tool in added)
        return tuple(tool.name for tool in added)

    def remove(self, name: str) -> None:
        """Take away a tool, or a whole source by its name.

        Raises:
            UnknownTool: there is none of this name.
        """
        if any(source.name == name for source in self._sources):
            self._sources = [source for source in self._sources if source.name != name]
        elif self._own_tools.pop(name, None) is None:
            raise unknown_tool(name, self._merge_tools())

    def enable(self, *names: str) -> None:
        """Switch tools on; raises as `remove`."""
        self._disabled -= set(self._check_names(names))

    def disable(self, *names: str) -> None:
        """Switch tools off: the model is not told of them and cannot call them; raises as `remove`."""
        self._disabled |= set(self._check_names(names))

    def get(self, name: str) -> Tool:
        """Give the tool of this name.

        Raises:
            UnknownTool: none that is switched on has it; the text lists names that exist.
        """
        tools = self.tools()
        if name not in tools:
            raise unknown_tool(name, tools)
        return tools[name]

    def tools(self) -> dict[str, Tool]:
        """Give the tools that are switched on, by name."""
        return {name: tool for name, tool in self._merge_tools().items() if name not in self._disabled}

    def rules(self) -> str:
        """Give the rules of this set and of the sets in it, as far as they have a tool that is switched on."""
        names = tuple(name for name in self._own_tools if name not in self._disabled)
        own_rules = (self._rules(names) if callable(self._rules) else self._rules) if self.tools() else ""
        index = _INDEX + "\n".join(rule.row for rule in self._on_demand) if self._on_demand and self.tools() else ""
        return "\n\n".join(text for text in (own_rules, index, *(source.rules() for source in self._sources)) if text)

    def on_demand(self) -> tuple[Rule, ...]:
        """Give the rules that are read when they are needed, of this set and of the sets in it, as `rules` does."""
        own_rules = self._on_demand if self.tools() else ()
        return (*own_rules, *(rule for source in self._sources for rule in on_demand_rules(source)))

    def filtered(self, keep: Callable[[Tool], bool] | Iterable[str]) -> FilteredTools:
        """Give a view of this set with some of its tools: those named (`read_*` too), or those `keep` is true for."""
        return FilteredTools(self, keep)

    def prefixed(self, prefix: str) -> PrefixedTools:
        """Give a view of this set with `prefix` before every name."""
        return PrefixedTools(self, prefix)

    def approved(self, policy: Policy) -> ApprovedTools:
        """Give a view of this set under another policy."""
        return ApprovedTools(self, policy)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools().values())

    def __len__(self) -> int:
        return len(self.tools())

    def __contains__(self, name: object) -> bool:
        return name in self.tools()

    def __repr__(self) -> str:
        return f"Toolset({self.name!r}, {', '.join(self.tools()) or 'empty'})"

    def _merge_tools(self) -> dict[str, Tool]:
        merged = dict(self._own_tools)
        for source in self._sources:
            for name, tool in source.tools().items():
                if merged.setdefault(name, tool) is not tool:
                    raise _collision(name, self.name)
        return merged

    def _check_names(self, names: Iterable[str]) -> Iterator[str]:
        tools = self._merge_tools()
        for name in names:
            if name not in tools:
                raise unknown_tool(name, tools)
            yield name

    def _add_source(self, source: ToolSource) -> tuple[str, ...]:
        others = [other for other in self._sources if other.name != source.name]
        existing = {**self._own_tools, **{name: tool for other in others for name, tool in other.tools().items()}}
        for name, tool in source.tools().items():
            if existing.get(name, tool) is not tool:
                raise _collision(name, self.name)
        self._sources = [*others, source]
        return tuple(source.tools())

    def _drop_class(self, origin: str) -> None:
        """Forget the methods of a class that is added again: it may have fewer now."""
        self._own_tools = {
            name: tool for name, tool in self._own_tools.items() if tool.origin.rpartition(".")[0] != origin
        }

    def _check_name_free(self, tool: Tool) -> None:
        existing = self._merge_tools().get(tool.name)
        if existing is None or existing is tool:
            return
        if tool.name not in self._own_tools or existing.origin != tool.origin:
            raise _collision(tool.name, self.name)


class FilteredTools:
    """Some tools of a source."""

    def __init__(self, source: ToolSource, keep: Callable[[Tool], bool] | Iterable[str]) -> None:
        self.name = source.name
        self._source = source
        self._is_kept = keep if callable(keep) else _name_filter((keep,) if isinstance(keep, str) else tuple(keep))

    def tools(self) -> dict[str, Tool]:
        """Give those that are kept."""
        return {name: tool for name, tool in self._source.tools().items() if self._is_kept(tool)}

    def rules(self) -> str:
        """Give the source's rules, while any tool is left."""
        return self._source.rules() if self.tools() else ""

    def on_demand(self) -> tuple[Rule, ...]:
        """Give the source's rules on demand, while any tool is left."""
        return on_demand_rules(self._source) if self.tools() else ()


class PrefixedTools:
    """The tools of a source under longer names."""

    def __init__(self, source: ToolSource, prefix: str) -> None:
        self.name = f"{prefix}{source.name}"
        self._source = source
        self._prefix = prefix
        self._cache: dict[Tool, Tool] = {}
        self.tools()

    def tools(self) -> dict[str, Tool]:
        """Give them by their longer names."""
        renamed = [self._with_prefix(tool) for tool in self._source.tools().values()]
        return {tool.name: tool for tool in renamed}

    def rules(self) -> str:
        """Give the source's rules."""
        return self._source.rules()

    def on_demand(self) -> tuple[Rule, ...]:
        """Give the source's rules on demand."""
        return on_demand_rules(self._source)

    def _with_prefix(self, tool: Tool) -> Tool:
        name = f"{self._prefix}{tool.name}"
        if not NAME.fullmatch(name):
            raise BadUsage(f"{name!r} is no name for a tool.", fix="Take a prefix of few letters, digits, '_' or '-'.")
        if tool not in self._cache:
            self._cache[tool] = replace(tool, name=name, digest=make_digest(tool=tool.digest, name=name))
        return self._cache[tool]


class ApprovedTools:
    """The tools of a source under another policy."""

    def __init__(self, source: ToolSource, policy: Policy) -> None:
        self.name = source.name
        self._source = source
        self._policy = policy
        self._cache: dict[Tool, Tool] = {}

    def tools(self) -> dict[str, Tool]:
        """Give them under the other policy; a sensitive tool stays sensitive."""
        return {name: self._with_policy(tool) for name, tool in self._source.tools().items()}

    def rules(self) -> str:
        """Give the source's rules."""
        return self._source.rules()

    def on_demand(self) -> tuple[Rule, ...]:
        """Give the source's rules on demand."""
        return on_demand_rules(self._source)

    def _with_policy(self, tool: Tool) -> Tool:
        if tool not in self._cache:
            policy = replace(self._policy, sensitive=self._policy.sensitive or tool.policy.sensitive)
            self._cache[tool] = replace(tool, policy=policy)
        return self._cache[tool]


def on_demand_rules(source: ToolSource) -> tuple[Rule, ...]:
    """Give the rules on demand of a source; one that knows of none has none."""
    get_rules = getattr(source, "on_demand", None)
    return tuple(get_rules()) if callable(get_rules) else ()


def toolset_factory(function: Factory) -> Factory:
    """Mark a function that makes a toolset and needs no arguments: where a toolset is expected, its name will do."""
    setattr(function, FACTORY_ATTRIBUTE, True)
    return function


def as_tool_source(obj: Any) -> ToolSource | None:
    """Give the toolset that a thing is, or that it makes; None where it is neither."""
    source = obj() if FACTORY_ATTRIBUTE in getattr(obj, "__dict__", {}) else obj
    return source if isinstance(source, ToolSource) else None


def unknown_tool(name: str, tools: Iterable[str]) -> UnknownTool:
    """Make the error for a name that no tool has, listing near names first."""
    names = sorted(tools)
    close_matches = difflib.get_close_matches(name[:64], names, n=3)
    names_listed = [*close_matches, *(other for other in names if other not in close_matches)][:MAX_NAMED]
    more = f" and {len(names) - len(names_listed)} more" if len(names) > len(names_listed) else ""
    return UnknownTool(
        f"There is no tool {shorten(name, 64)!r}.", fix=f"Tools: {', '.join(names_listed) or 'none'}{more}."
    )


def _collision(name: str, toolset_name: str) -> BadUsage:
    return BadUsage(
        f"Two tools are named {name!r} in the toolset {toolset_name!r}.",
        fix="Rename one with tool(name=...), or use toolset.prefixed(...).",
    )


def _name_filter(patterns: tuple[str, ...]) -> Callable[[Tool], bool]:
    return lambda tool: any(fnmatchcase(tool.name, pattern) for pattern in patterns)
