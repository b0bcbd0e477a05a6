"""Tools that the provider runs beside those of the notebook: one name for all dialects, or a definition of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtool.errors import Unsupported
from nbtool.text import left_out, shorten

PROVIDER_TOOLS = "provider_tools"
"""The option of a prompt that lists them; each wire translates it."""

Definition = dict[str, Any]

NAMED: dict[str, dict[str, Definition]] = {
    "responses": {
        "web_search": {"type": "web_search"},
        "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
        "image_generation": {"type": "image_generation"},
    },
    "anthropic": {
        "web_search": {"type": "web_search_20250305", "name": "web_search"},
        "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
        "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
    },
    "gemini": {
        "web_search": {"googleSearch": {}},
        "web_fetch": {"urlContext": {}},
        "code_interpreter": {"codeExecution": {}},
    },
}
"""The definitions by dialect and name."""

BETAS = {"web_fetch_20250910": "web-fetch-2025-09-10", "code_execution_20250825": "code-execution-2025-08-25"}
"""The values of `anthropic-beta` that tools of the Messages dialect require, by type."""

OUTPUTS = {"web_search": "web_search_call.action.sources", "code_interpreter": "code_interpreter_call.outputs"}
"""What Responses sends of a tool's outcome on request only, by type."""


MAX_PASSAGE = 500
"""Maximum length of the passage of a citation, in characters: each of thousands may name the whole text."""


def cited_passage(text: str, start: int = 0, end: int | None = None) -> str:
    """Return the passage of a text that a citation is for, truncated with a note."""
    length = (len(text) if end is None else end) - start
    excerpt = text[start : start + min(length, MAX_PASSAGE)]
    return f"{excerpt}[{left_out(length - MAX_PASSAGE)}]" if length > MAX_PASSAGE else excerpt


def take_provider_tools(options: Mapping[str, Any], wire: str) -> tuple[dict[str, Any], list[Definition]]:
    """Return options without the tools of the provider, and these as the dialect defines them.

    Raises:
        nbtool.errors.Unsupported: the dialect has no tool of a name.
    """
    others = {name: value for name, value in options.items() if name != PROVIDER_TOOLS}
    listed = options.get(PROVIDER_TOOLS) or ()
    tools = [listed] if isinstance(listed, str | Mapping) else listed
    return others, [_definition(tool, wire) for tool in (tools if isinstance(tools, Sequence) else [tools])]


def _definition(tool: Any, wire: str) -> Definition:
    known = NAMED.get(wire, {})
    if isinstance(tool, Mapping) and known:
        return dict(tool)
    if isinstance(tool, str) and tool in known:
        return dict(known[tool])
    if not known:
        raise Unsupported(f"The {wire} wire has no tools of the provider.", fix=f"Use `--wire` {' or '.join(NAMED)}.")
    name = shorten(str(tool), 60)
    raise Unsupported(f"The {wire} wire has no tool {name!r} of the provider.", fix=f"Choose {', '.join(known)}.")
