"""One call as a line of Python: the person's own function, its arguments, and what has to be done with the result."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from nbtool.blocks.sanitize import one_line
from nbtool.chat.export.literals import LiteralWriter, NotLiteral
from nbtool.chat.export.names import NotebookNames, is_identifier, is_name
from nbtool.chat.export.references import ReferenceWriter
from nbtool.chat.export.steps import StepWriter
from nbtool.errors import ToolError
from nbtool.tools.calls.binding import bind
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.tool import Tool
from nbtool.tools.variables.references import Path, without_references
from nbtool.tools.variables.store import Variables

WIDTH = 100
"""Characters of a line, where it can be broken."""

MAX_ARGUMENTS = 1_000_000
"""Characters of one call's arguments that are written as code."""

_KINDS = inspect.Parameter


@dataclass(slots=True)
class CallCode:
    """A call as code: the expression, and what a reader should know of it."""

    expression: str
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ExportContext:
    """What code is written from and for: the tools and variables of a chat, and the notebook where it will run.

    In a `script`, where nothing can be awaited, asynchronous functions are run to their end. Turns that are not
    `trusted` may never have happened: no validator of the person's runs on their arguments, and code of a model stands
    in comments.
    """

    tools: Mapping[str, Tool]
    variables: Variables
    notebook: Mapping[str, Any]
    script: bool = False
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class CallWriter:
    """Writes calls."""

    names: NotebookNames
    references: ReferenceWriter
    context: ExportContext

    def write(self, record: CallRecord) -> CallCode:
        """Give a call as an expression.

        Raises:
            Unwritable: its function or something in its arguments cannot be reached from the notebook.
        """
        self.references.remarks = []
        tool = self.context.tools.get(record.name)
        remarks: list[str] = []
        function = self._function(record.name, tool, remarks)
        source = f"{function}({self._arguments(arguments_of(record), tool)})"
        if len(source) > WIDTH:
            source = f"{function}({self._arguments(arguments_of(record), tool, broken=True)})"
        steps = StepWriter(self.names, self.context.script)
        expression = steps.write(source, tool.function) if tool else source
        return CallCode(expression, [*remarks, *dict.fromkeys(self.references.remarks)])

    def _function(self, name: str, tool: Tool | None, remarks: list[str]) -> str:
        if tool and (reason := _chat_only_reason(tool)):
            raise NotLiteral(f"the tool `{one_line(name)}`, {reason}")
        if tool and (path := self.names.find(tool.function)):
            return path
        own = getattr(tool.function, "__name__", name) if tool else name
        if is_name(own) and self.names.has_function(own):
            remarks.append(f"`{own}` is what the notebook calls so now; it may be another than the one that ran.")
            return self.names.use(own)
        origin = f" ({one_line(tool.origin)})" if tool else ""
        raise NotLiteral(f"the tool `{one_line(name)}`{origin}, which has no name in the notebook")

    def _arguments(self, arguments: dict[str, Any], tool: Tool | None, *, broken: bool = False) -> str:
        values = self._values(arguments, tool)
        parts = [*_positional_arguments(values, tool, self.names), *_keyword_arguments(values, tool, self.names)]
        if not parts:
            return ""
        return "".join(f"\n    {part}," for part in parts) + "\n" if broken else ", ".join(parts)

    def _values(self, arguments: dict[str, Any], tool: Tool | None) -> dict[str, str]:
        """Give the source of every argument, in the order in which they were given."""
        takes_text = tool is not None and not tool.resolves_references
        locations = {} if takes_text else self.references.locations(arguments)
        writer = LiteralWriter(self.names, locations)
        return {
            name: writer.write(self._typed(name, value, arguments, tool, locations), (name,))
            for name, value in arguments.items()
        }

    def _typed(
        self, name: str, value: Any, arguments: dict[str, Any], tool: Tool | None, locations: Mapping[Path, str]
    ) -> Any:
        """Give an argument as the function was given it, where its type is not one that JSON has."""
        if tool is None or not self.context.trusted or (name,) in locations:
            return value
        try:
            if any(path[0] == name for path in locations):
                return bind(tool, arguments, self.context.variables).values[name]
            parameter = tool.parameters.by_name.get(name, tool.parameters.extra)
            return value if parameter is None else parameter.adapter.validate_json(json.dumps(value), strict=True)
        except (ToolError, ValidationError, KeyError):
            return value  # the function has changed since, or what was referred to has


def _chat_only_reason(tool: Tool) -> str:
    """Say why a tool runs nowhere but in a chat; empty where its function is the person's own."""
    if tool.origin.startswith("mcp."):
        return f"which the MCP server `{one_line(tool.origin.split('.')[1])}` runs for a chat"
    function: Any = tool.function
    while isinstance(function, functools.partial):
        function = function.func
    made_by = str(getattr(function, "__module__", None) or type(function).__module__)
    if "nbtool" in (made_by.partition(".")[0], tool.origin.partition(".")[0]):
        return "which is a part of nbtool"
    return ""


def arguments_of(record: CallRecord) -> dict[str, Any]:
    """Give the arguments that ran, as they were written: the model's, or those that a person put in their place.

    Raises:
        Unwritable: they are not JSON, or too long.
    """
    text = record.edited or record.arguments or "{}"
    try:
        arguments = json.loads(text) if len(text) <= MAX_ARGUMENTS else None
        cleaned = without_references(arguments).arguments if isinstance(arguments, dict) else None
    except (ValueError, RecursionError):
        cleaned = None
    if cleaned is None:
        raise NotLiteral(f"arguments that are not JSON of at most {MAX_ARGUMENTS:,} characters")
    return cleaned


def _positional_arguments(arguments: dict[str, str], tool: Tool | None, names: NotebookNames) -> list[str]:
    """Take out the arguments that are passed by place: those that must be, or whole objects that come first."""
    parameters = list(tool.parameters.by_name.values()) if tool else []
    several = next(
        (one.name for one in parameters if one.kind is _KINDS.VAR_POSITIONAL and one.name in arguments), None
    )
    if several and arguments[several] == "[]":
        del arguments[several]
        several = None
    must = [
        at
        for at, one in enumerate(parameters)
        if (one.kind is _KINDS.POSITIONAL_ONLY and one.name in arguments)
        or (several and one.kind is _KINDS.POSITIONAL_OR_KEYWORD)
    ]
    count = must[-1] + 1 if must else 0
    parts = [arguments.pop(one.name, "") or LiteralWriter(names).write(one.default) for one in parameters[:count]]
    for one in parameters[count:]:
        if one.name == several:
            return [*parts, f"*{arguments.pop(several)}"]
        if one.kind is not _KINDS.POSITIONAL_OR_KEYWORD or not is_name(arguments.get(one.name, "")):
            break
        parts.append(arguments.pop(one.name))
    return parts


def _keyword_arguments(arguments: Mapping[str, str], tool: Tool | None, names: NotebookNames) -> list[str]:
    """Give the other arguments, in the order of the signature, by name; what no name can be goes into a `**`."""
    parameters = [name for name in (tool.parameters.by_name if tool else ()) if name in arguments]
    ordered = [*parameters, *(name for name in arguments if name not in parameters)]
    keywords = [f"{name}={arguments[name]}" for name in ordered if is_identifier(name)]
    odd = [f"{LiteralWriter(names).write(name)}: {arguments[name]}" for name in ordered if not is_identifier(name)]
    return [*keywords, *([f"**{{{', '.join(odd)}}}"] if odd else [])]
