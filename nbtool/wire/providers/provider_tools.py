"""Tools that the provider runs beside those of the notebook: one name for all dialects, or a definition of its own.

They stay in the request for a final reply: leaving them out would invalidate the prompt cache. Responses forbids their
calls there; on the other wires one may still run, within the reply and without another request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtool.errors import BadUsage, Unsupported
from nbtool.text import shorten
from nbtool.wire.dialect import DIALECTS, PROVIDER_TOOL_NAMES, Definition

PROVIDER_TOOLS = "provider_tools"
"""The option of a prompt that lists them; each wire translates it."""


def parse_provider_tools(value: Any) -> list[str | Definition]:
    """Return tools of the provider as a person sets them: one or several, by name or as definitions.

    Raises:
        nbtool.errors.BadUsage: a name is unknown in all dialects, or something else is set.
    """
    tools = [value] if isinstance(value, str | Mapping) else value
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, str | Mapping) for tool in tools):
        known = ", ".join(PROVIDER_TOOL_NAMES)
        raise BadUsage("provider_tools: expected a list of names or definitions.", fix=f"Names: {known}.")
    if unknown := next((tool for tool in tools if isinstance(tool, str) and tool not in PROVIDER_TOOL_NAMES), None):
        raise BadUsage(
            f"provider_tools: there is no tool {shorten(unknown, 60)!r} of the provider.",
            fix=f"Choose {', '.join(PROVIDER_TOOL_NAMES)}, or write the provider's definition.",
        )
    return [tool if isinstance(tool, str) else dict(tool) for tool in tools]


def name_definition(tool: str | Definition) -> str:
    """Return the name of a tool of the provider: of a definition, the one in it, or its kind."""
    if isinstance(tool, str):
        return tool
    return str(next((tool[key] for key in ("name", "type") if isinstance(tool.get(key), str)), next(iter(tool), "")))


def with_provider_tools(options: Mapping[str, Any], tools: Sequence[str | Definition] | None) -> Mapping[str, Any]:
    """Return options with these tools of the provider, unless they set their own; None sets nothing."""
    return options if tools is None else {PROVIDER_TOOLS: list(tools), **options}


def without_provider_tools(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without tools of the provider."""
    return {name: value for name, value in options.items() if name != PROVIDER_TOOLS}


def take_provider_tools(options: Mapping[str, Any], wire: str) -> tuple[dict[str, Any], list[Definition]]:
    """Return options without the tools of the provider, and these as the dialect defines them.

    Raises:
        nbtool.errors.Unsupported: the dialect has no tool of a name.
    """
    listed = options.get(PROVIDER_TOOLS) or ()
    tools = [listed] if isinstance(listed, str | Mapping) else listed
    definitions = [_definition(tool, wire) for tool in (tools if isinstance(tools, Sequence) else [tools])]
    return without_provider_tools(options), definitions


def _definition(tool: Any, wire: str) -> Definition:
    known = DIALECTS[wire].provider_tools
    if isinstance(tool, Mapping) and known:
        return dict(tool)
    if isinstance(tool, str) and tool in known:
        return dict(known[tool])
    if not known:
        others = " or ".join(f"`--set wire={name}`" for name, row in DIALECTS.items() if row.provider_tools)
        raise Unsupported(f"The {wire} wire has no tools of the provider.", fix=f"Use {others}.")
    name = shorten(str(tool), 60)
    raise Unsupported(f"The {wire} wire has no tool {name!r} of the provider.", fix=f"Choose {', '.join(known)}.")
