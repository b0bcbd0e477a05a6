"""Write one call as Python: the user's function, its arguments, and what to do with the result."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from nbtool.blocks.sanitize import one_line
from nbtool.chat.export.literals import LiteralWriter, NotLiteral
from nbtool.chat.export.names import NotebookNames, is_identifier, is_name
from nbtool.chat.export.references import ReferenceWriter
from nbtool.chat.export.steps import StepWriter
from nbtool.errors import ToolError
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.tool import Tool
from nbtool.tools.variables.references import Path, without_references
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import Call

WIDTH = 100
"""Longest line that is not wrapped, in characters."""

MAX_ARGUMENTS = 1_000_000
"""Maximum characters of one call's arguments that are exported."""

_KINDS = inspect.Parameter


@dataclass(slots=True)
class CallCode:
    """A call as code: the expression, and comments about it."""

    expression: str
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ExportContext:
    """The inputs of an export: the tools and variables of a chat, and the notebook where the code will run.

    In a `script`, which has no top-level await, asynchronous functions are run with `asyncio.run`. Turns that are not
    `trusted` may be forged: no validator of the user runs on their arguments, and code of a model is commented out.
    `numbers` are the numbers of turns in `%chat history`, by their ids; a turn without one is named by its id.
    What `plugins` keep out of the journal is kept out of the code too; without any it is as the calls ran.
    For a cell of the notebook, `cells` are the sources that have run in its kernel: functions that they define are not
    copied, and the last result is shown. None: the code is for a file.
    """

    tools: Mapping[str, Tool]
    variables: Variables
    notebook: Mapping[str, Any]
    script: bool = False
    trusted: bool = True
    numbers: Mapping[str, str] = field(default_factory=dict)
    plugins: Sequence[object] = ()
    cells: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class CallWriter:
    """Write calls as Python expressions."""

    names: NotebookNames
    references: ReferenceWriter
    context: ExportContext

    def write(self, record: Call) -> CallCode:
        """Return a call as an expression.

        Raises:
            NotLiteral: its function or one of its arguments is not available in the notebook.
        """
        self.references.remarks = []
        tool = self.context.tools.get(record.name)
        remarks: list[str] = []
        function = self._function(record.name, tool, remarks)
        arguments = {**arguments_of(record), **_filled_defaults(record, tool)}
        source = f"{function}({self._arguments(arguments, tool)})"
        if len(source) > WIDTH:
            source = f"{function}({self._arguments(arguments, tool, broken=True)})"
        steps = StepWriter(self.names, self.context.script)
        expression = steps.write(source, tool.function) if tool else source
        return CallCode(expression, [*remarks, *dict.fromkeys(self.references.remarks)])

    def _function(self, name: str, tool: Tool | None, remarks: list[str]) -> str:
        if tool and (reason := _chat_only_reason(tool)):
            raise NotLiteral(f"the tool `{one_line(tool.display_name)}`, {reason}")
        if tool and (path := self.names.find(tool.function)):
            return path
        own = getattr(tool.function, "__name__", name) if tool else name
        if is_name(own) and self.names.has_function(own):
            remarks.append(
                f"`{own}` is the notebook's current function of this name; it may differ from the one that ran."
            )
            return self.names.use(own)
        origin = f" ({one_line(tool.origin)})" if tool else ""
        label = one_line(tool.display_name if tool else name)
        raise NotLiteral(f"the tool `{label}`{origin}, which has no name in the notebook")

    def _arguments(self, arguments: dict[str, Any], tool: Tool | None, *, broken: bool = False) -> str:
        values = self._values(arguments, tool)
        parts = [*_positional_arguments(values, tool, self.names), *_keyword_arguments(values, tool, self.names)]
        if not parts:
            return ""
        return "".join(f"\n    {part}," for part in parts) + "\n" if broken else ", ".join(parts)

    def _values(self, arguments: dict[str, Any], tool: Tool | None) -> dict[str, str]:
        """Return the source of every argument, in the order of the call."""
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
        """Return an argument converted to the parameter's type, as the function received it."""
        if tool is None or not self.context.trusted or (name,) in locations:
            return value
        try:
            if any(path[0] == name for path in locations):
                return bind(tool, arguments, self.context.variables).values[name]
            parameter = tool.parameters.by_name.get(name, tool.parameters.extra)
            return value if parameter is None else parameter.read(value)
        except (ToolError, ValidationError, KeyError):
            return value  # the function or the referenced object has changed since


def _chat_only_reason(tool: Tool) -> str:
    """Return why a tool runs only in a chat; empty for a function of the user."""
    if tool.origin.startswith("mcp."):
        return f"which the MCP server `{one_line(tool.origin.split('.')[1])}` runs for a chat"
    function: Any = tool.function
    while isinstance(function, functools.partial):
        function = function.func
    made_by = str(getattr(function, "__module__", None) or type(function).__module__)
    if "nbtool" in (made_by.partition(".")[0], tool.origin.partition(".")[0]):
        return "which is a part of nbtool"
    return ""


def arguments_of(record: Call) -> dict[str, Any]:
    """Return the arguments that the call ran with: the model's, or those edited by the user.

    Raises:
        NotLiteral: they are not JSON, or too long.
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


def _filled_defaults(record: Call, tool: Tool | None) -> dict[str, Any]:
    """Return the defaults that validation filled in: called by itself, the function would receive a `Field`.

    Raises:
        NotLiteral: one is not JSON.
    """
    given = arguments_of(record)
    parameters = tool.parameters.by_name if tool else {}
    filled = [
        name for name, parameter in parameters.items() if parameter.is_filled_in(given) and name in record.resolved
    ]
    try:
        return {name: json.loads(record.resolved[name].text) for name in filled}
    except (ValueError, RecursionError):
        raise NotLiteral("the default of a parameter, which is not JSON") from None


def _positional_arguments(arguments: dict[str, str], tool: Tool | None, names: NotebookNames) -> list[str]:
    """Remove and return the positional arguments: positional-only ones, and leading plain names."""
    parameters = list(tool.parameters.by_name.values()) if tool else []
    several = next(
        (
            parameter.name
            for parameter in parameters
            if parameter.kind is _KINDS.VAR_POSITIONAL and parameter.name in arguments
        ),
        None,
    )
    if several and arguments[several] == "[]":
        del arguments[several]
        several = None
    must = [
        at
        for at, item in enumerate(parameters)
        if (item.kind is _KINDS.POSITIONAL_ONLY and item.name in arguments)
        or (several and item.kind is _KINDS.POSITIONAL_OR_KEYWORD)
    ]
    count = must[-1] + 1 if must else 0
    parts = [
        arguments.pop(parameter.name, "") or LiteralWriter(names).write(parameter.default)
        for parameter in parameters[:count]
    ]
    for parameter in parameters[count:]:
        if parameter.name == several:
            return [*parts, f"*{arguments.pop(several)}"]
        if parameter.kind is not _KINDS.POSITIONAL_OR_KEYWORD or not is_name(arguments.get(parameter.name, "")):
            break
        parts.append(arguments.pop(parameter.name))
    return parts


def _keyword_arguments(arguments: Mapping[str, str], tool: Tool | None, names: NotebookNames) -> list[str]:
    """Return the keyword arguments, in the order of the signature; names that are not identifiers go into a `**`."""
    known = [
        parameter for parameter in (tool.parameters.by_name.values() if tool else ()) if parameter.name in arguments
    ]
    rest = {name: source for name, source in arguments.items() if name not in {parameter.name for parameter in known}}
    arguments = {**{parameter.target or parameter.name: arguments[parameter.name] for parameter in known}, **rest}
    keywords = [f"{name}={arguments[name]}" for name in arguments if is_identifier(name)]
    odd = [f"{LiteralWriter(names).write(name)}: {arguments[name]}" for name in arguments if not is_identifier(name)]
    return [*keywords, *([f"**{{{', '.join(odd)}}}"] if odd else [])]
