"""Sources of tools, their rules, and views of a source: its tools selected, renamed, or with another policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Protocol, runtime_checkable

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.tool import Tool
from nbtool.tools.tool_names import NAME
from nbtool.tools.values.sanitize import single_line


@check_arguments
@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that is too long for every prompt: the prompt lists it, and the model reads it as the variable `name`."""

    name: str
    text: str
    description: str = ""
    read_when: str = "as needed"

    @property
    def row(self) -> str:
        """The rule as a row of the index table."""
        cells = (f"`{self.name}`", self.description, self.read_when)
        return f"| {' | '.join(single_line(cell).replace('|', '/') for cell in cells)} |"


@runtime_checkable
class ToolSource(Protocol):
    """A source of tools: a toolset, a wrapper around one, a server."""

    name: str

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools that can be called now, by name."""

    def rules(self) -> str:
        """Return the prompt text about the tools; empty for none."""


def find_tool(source: ToolSource, name: str) -> Tool | None:
    """Return the tool of this name of a source; None if there is none.

    A source may have a method `find`, which is quicker than `tools`; that of a base class does not count for a class
    with tools of its own.
    """
    return source.find(name) if _has_find(type(source)) else source.tools().get(name)  # type: ignore[attr-defined]  # it has one


@cache
def _has_find(kind: type) -> bool:
    return next(("find" in vars(item) for item in kind.__mro__ if "tools" in vars(item)), False)


def on_demand_rules(source: ToolSource) -> tuple[Rule, ...]:
    """Return the on-demand rules of a source; empty if it does not support them."""
    get_rules = getattr(source, "on_demand", None)
    return tuple(get_rules()) if callable(get_rules) else ()


class ToolView(ABC):
    """The tools of a source, each as `change` returns it."""

    def __init__(self, source: ToolSource) -> None:
        self.name = source.name
        self._source = source
        self._changed: dict[Tool, Tool] = {}

    @abstractmethod
    def change(self, tool: Tool) -> Tool:
        """Return a tool as it is in this view; it is called once for each."""

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name."""
        tool = find_tool(self._source, name)
        return tool and self._get(tool)

    def tools(self) -> dict[str, Tool]:
        """Return the tools by their names."""
        return {name: self._get(tool) for name, tool in self._source.tools().items()}

    def rules(self) -> str:
        """Return the source's rules."""
        return self._source.rules()

    def on_demand(self) -> tuple[Rule, ...]:
        """Return the source's on-demand rules."""
        return on_demand_rules(self._source)

    def _get(self, tool: Tool) -> Tool:
        if tool not in self._changed:
            self._changed[tool] = self.change(tool)
        return self._changed[tool]


@check_arguments
class PrefixedTools(ToolView):
    """The tools of a source with a prefix before their names."""

    def __init__(self, source: ToolSource, prefix: str) -> None:
        super().__init__(source)
        self.name = f"{prefix}{source.name}"
        self._prefix = prefix
        self.tools()

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name, which begins with the prefix."""
        return super().find(name.removeprefix(self._prefix)) if name.startswith(self._prefix) else None

    def tools(self) -> dict[str, Tool]:
        """Return the tools by their prefixed names."""
        return {f"{self._prefix}{name}": tool for name, tool in super().tools().items()}

    def change(self, tool: Tool) -> Tool:
        """Return a tool with the prefix before its names.

        Raises:
            BadUsage: the name is too long, or has other characters than a name may have.
        """
        name = f"{self._prefix}{tool.name}"
        if not NAME.fullmatch(name):
            raise BadUsage(
                f"{name!r} is not a valid tool name.", fix="Use a short prefix of letters, digits, '_' or '-'."
            )
        qualified = tool.qualified_name and f"{self._prefix}{tool.qualified_name}"
        return replace(tool, name=name, digest=make_digest(tool=tool.digest, name=name), qualified_name=qualified)


@check_arguments
class ApprovedTools(ToolView):
    """The tools of a source with another policy; a sensitive tool remains sensitive."""

    def __init__(self, source: ToolSource, policy: Policy) -> None:
        super().__init__(source)
        self._policy = policy

    def change(self, tool: Tool) -> Tool:
        """Return a tool with the other policy."""
        return replace(tool, policy=replace(self._policy, sensitive=self._policy.sensitive or tool.policy.sensitive))


@check_arguments
class FilteredTools:
    """A subset of a source's tools."""

    def __init__(self, source: ToolSource, keep: Callable[[Tool], bool] | str | Iterable[str]) -> None:
        self.name = source.name
        self._source = source
        self._is_kept = keep if callable(keep) else _name_filter((keep,) if isinstance(keep, str) else tuple(keep))

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name if it is selected."""
        tool = find_tool(self._source, name)
        return tool if tool and self._is_kept(tool) else None

    def tools(self) -> dict[str, Tool]:
        """Return the selected tools."""
        return {name: tool for name, tool in self._source.tools().items() if self._is_kept(tool)}

    def rules(self) -> str:
        """Return the source's rules if any tool is selected."""
        return self._source.rules() if self.tools() else ""

    def on_demand(self) -> tuple[Rule, ...]:
        """Return the source's on-demand rules if any tool is selected."""
        return on_demand_rules(self._source) if self.tools() else ()


def _name_filter(patterns: tuple[str, ...]) -> Callable[[Tool], bool]:
    return lambda tool: any(fnmatchcase(tool.name, pattern) for pattern in patterns)


def left_out_tools(source: ToolSource) -> tuple[str, ...]:
    """Return what cannot be offered to a model of a source's tools, and why, a sentence each.

    Sources that read their tools elsewhere, such as a server, may have a method `left_out` that says it of theirs.
    """
    unfit = ((tool.display_name, tool.unfit_reason) for tool in source.tools().values())
    own = (f"The tool {name!r} is not offered to the model: {reason}." for name, reason in unfit if reason)
    return tuple(dict.fromkeys([*_left_out_by(source), *own]))


def _left_out_by(source: Any) -> tuple[str, ...]:
    """Return what a source and those inside it leave out."""
    inner = [*getattr(source, "sources", ()), *filter(None, [getattr(source, "_source", None)])]
    left_out = getattr(source, "left_out", None)
    own = tuple(left_out()) if callable(left_out) else ()
    return (*own, *(line for item in inner for line in _left_out_by(item)))
