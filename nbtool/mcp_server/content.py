"""Tools, results and variables of the notebook, in the types of the Model Context Protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from mcp import types

from nbtool.errors import BadUsage
from nbtool.mcp_server.client_calls import Answer
from nbtool.text import shorten
from nbtool.tools.tool import Tool
from nbtool.tools.variables.variable import Variable

VARIABLE_URI = "nbtool://variables/"
"""The start of the address of a variable as a resource; its name follows."""

READING = ("nbtool.inspection.", "nbtool.variables.ListVars", "nbtool.variables.ReadVar")
"""The beginnings of the origins of nbtool's own tools that change nothing."""

RESULT_REFERENCE = "Kept as $VAR_REF{{{{{name}}}}}."
"""What follows a result that can be handed on by reference."""


def as_tool(tool: Tool, *, has_tasks: bool = False) -> types.Tool:
    """Return a tool as clients list it, which may be called as a task if it `has_tasks`.

    Its annotations follow from its policy.
    A tool that never asks is not called read-only unless it is one of nbtool's own that reads variables: the author of
    a function says when to ask, and not what the function does.
    """
    reads_only = tool.is_builtin and tool.origin.startswith(READING) and tool.policy.run == "auto"
    return types.Tool(
        name=tool.name,
        title=tool.display_name,
        description=tool.description,
        input_schema=dict(tool.parameters.schema),
        execution=types.ToolExecution(task_support="optional") if has_tasks else None,
        annotations=types.ToolAnnotations(
            read_only_hint=reads_only,
            destructive_hint=False if reads_only else tool.policy.sensitive or None,
            idempotent_hint=reads_only or None,
            open_world_hint=False if reads_only else bool(tool.sends_to) or None,
        ),
    )


def as_call_result(answer: Answer) -> types.CallToolResult:
    """Return an answer as a client receives it: the text that a model would receive, and its images and sounds.

    A text that is a JSON object is the structured content too.
    """
    result = answer.result
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=result.text)]
    if answer.kept_as:
        content.append(types.TextContent(type="text", text=RESULT_REFERENCE.format(name=answer.kept_as)))
    for media in result.media:
        data = base64.b64encode(media.data or b"").decode("ascii")
        if media.mime.startswith("image/"):
            content.append(types.ImageContent(type="image", data=data, mime_type=media.mime))
        elif media.mime.startswith("audio/"):
            content.append(types.AudioContent(type="audio", data=data, mime_type=media.mime))
    structured = None if result.is_error else _json_object(result.text)
    return types.CallToolResult(content=content, structured_content=structured, is_error=result.is_error)


def refusal(error: object) -> types.CallToolResult:
    """Return a call that was refused before it became a turn."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)


def as_resources(variables: Iterable[Variable], describe: Any) -> list[types.Resource]:
    """Return the exposed variables as resources; `describe` returns the description of a name."""
    return [
        types.Resource(
            uri=f"{VARIABLE_URI}{entry.name}",
            name=entry.name,
            description=f"{describe(entry.name)}; {'readable' if entry.is_readable else 'by reference only'}. "
            f"Pass it to a tool as $VAR_REF{{{{{entry.name}}}}}.",
            mime_type="text/plain",
        )
        for entry in variables
    ]


def variable_name(uri: str) -> str:
    """Return the variable that a resource's address names.

    Raises:
        BadUsage: the address is not one of a variable.
    """
    name = uri.removeprefix(VARIABLE_URI)
    if not uri.startswith(VARIABLE_URI) or not name.isidentifier():
        raise BadUsage(f"{shorten(uri, 200)!r} is no variable of this notebook.", fix="List the resources.")
    return name


def _json_object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> float:
    """Refuse NaN and the infinities, which the protocol's JSON has not: they would become null."""
    raise ValueError(name)
