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
from nbtool.chat.export.literals import Unwritable, Writer
from nbtool.chat.export.names import Names, is_identifier, is_name
from nbtool.chat.export.references import References
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
class Written:
    """A call as code: the expression, and what a reader should know of it."""

    expression: str
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Around:
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

    names: Names
    references: References
    around: Around

    def write(self, record: CallRecord) -> Written:
        """Give a call as an expression.

        Raises:
            Unwritable: its function or something in its arguments cannot be reached from the notebook.
        """
        self.references.remarks = []
        tool = self.around.tools.get(record.name)
        remarks: list[str] = []
        function = self._function(record.name, tool, remarks)
        written = f"{function}({self._arguments(arguments_of(record), tool)})"
        if len(written) > WIDTH:
            written = f"{function}({self._arguments(arguments_of(record), tool, broken=True)})"
        steps = StepWriter(self.names, self.around.script)
        expression = steps.write(written, tool.function) if tool else written
        return Written(expression, [*remarks, *dict.fromkeys(self.references.remarks)])

    def _function(self, name: str, tool: Tool | None, remarks: list[str]) -> str:
        if tool and (why := _why_not_alone(tool)):
            raise Unwritable(f"the tool `{one_line(name)}`, {why}")
        if tool and (found := self.names.where(tool.function)):
            return found
        own = getattr(tool.function, "__name__", name) if tool else name
        if is_name(own) and self.names.has_function(own):
            remarks.append(f"`{own}` is what the notebook calls so now; it may be another than the one that ran.")
            return self.names.use(own)
        origin = f" ({one_line(tool.origin)})" if tool else ""
        raise Unwritable(f"the tool `{one_line(name)}`{origin}, which has no name in the notebook")

    def _arguments(self, arguments: dict[str, Any], tool: Tool | None, *, broken: bool = False) -> str:
        written = self._values(arguments, tool)
        parts = [*_by_place(written, tool, self.names), *_by_name(written, tool, self.names)]
        if not parts:
            return ""
        return "".join(f"\n    {part}," for part in parts) + "\n" if broken else ", ".join(parts)

    def _values(self, arguments: dict[str, Any], tool: Tool | None) -> dict[str, str]:
        """Give the source of every argument, in the order in which they were given."""
        takes_text = tool is not None and not tool.resolves_references
        places = {} if takes_text else self.references.places(arguments)
        writer = Writer(self.names, places)
        return {
            name: writer.write(self._typed(name, value, arguments, tool, places), (name,))
            for name, value in arguments.items()
        }

    def _typed(
        self, name: str, value: Any, arguments: dict[str, Any], tool: Tool | None, places: Mapping[Path, str]
    ) -> Any:
        """Give an argument as the function was given it, where its type is not one that JSON has."""
        if tool is None or not self.around.trusted or (name,) in places:
            return value
        try:
            if any(path[0] == name for path in places):
                return bind(tool, arguments, self.around.variables).values[name]
            parameter = tool.parameters.by_name.get(name, tool.parameters.extra)
            return value if parameter is None else parameter.adapter.validate_json(json.dumps(value), strict=True)
        except (ToolError, ValidationError, KeyError):
            return value  # the function has changed since, or what was referred to has


def _why_not_alone(tool: Tool) -> str:
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
        raise Unwritable(f"arguments that are not JSON of at most {MAX_ARGUMENTS:,} characters")
    return cleaned


def _by_place(written: dict[str, str], tool: Tool | None, names: Names) -> list[str]:
    """Take out the arguments that are passed by place: those that must be, or whole objects that come first."""
    known = list(tool.parameters.by_name.values()) if tool else []
    several = next((one.name for one in known if one.kind is _KINDS.VAR_POSITIONAL and one.name in written), None)
    if several and written[several] == "[]":
        del written[several]
        several = None
    must = [
        at
        for at, one in enumerate(known)
        if (one.kind is _KINDS.POSITIONAL_ONLY and one.name in written)
        or (several and one.kind is _KINDS.POSITIONAL_OR_KEYWORD)
    ]
    count = must[-1] + 1 if must else 0
    parts = [written.pop(one.name, "") or Writer(names).write(one.default) for one in known[:count]]
    for one in known[count:]:
        if one.name == several:
            return [*parts, f"*{written.pop(several)}"]
        if one.kind is not _KINDS.POSITIONAL_OR_KEYWORD or not is_name(written.get(one.name, "")):
            break
        parts.append(written.pop(one.name))
    return parts


def _by_name(written: Mapping[str, str], tool: Tool | None, names: Names) -> list[str]:
    """Give the other arguments, in the order of the signature, by name; what no name can be goes into a `**`."""
    known = [name for name in (tool.parameters.by_name if tool else ()) if name in written]
    ordered = [*known, *(name for name in written if name not in known)]
    named = [f"{name}={written[name]}" for name in ordered if is_identifier(name)]
    odd = [f"{Writer(names).write(name)}: {written[name]}" for name in ordered if not is_identifier(name)]
    return [*named, *([f"**{{{', '.join(odd)}}}"] if odd else [])]
