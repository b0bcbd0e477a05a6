"""What the dialects have in common for tools of the provider and for citations.

Tools of the provider stay in the request for a final reply: leaving them out would invalidate the prompt cache.
Responses forbids their calls there; on the other wires one may still run, within the reply and without another request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbtool.errors import Unsupported
from nbtool.messages import ProviderCall
from nbtool.text import left_out, shorten
from nbtool.wire.dialect import DIALECTS, Definition
from nbtool.wire.providers.provider_tools import PROVIDER_TOOLS, without_provider_tools

BETAS = {"web_fetch_20250910": "web-fetch-2025-09-10", "code_execution_20250825": "code-execution-2025-08-25"}
"""The values of `anthropic-beta` that tools of the Messages dialect require, by type."""

OUTPUTS = {"web_search": "web_search_call.action.sources", "code_interpreter": "code_interpreter_call.outputs"}
"""What Responses sends of a tool's outcome on request only, by type."""

MAX_UNKNOWN = 4_000
"""Maximum length of the contents of a part of unknown kind, in characters."""

_NO_CONTENT = frozenset({"type", "id", "call_id", "status", "index", "caller", "container_id", "fingerprint"})

MAX_PASSAGE = 500
"""Maximum length of the passage of a citation, in characters: each of thousands may name the whole text."""


def cited_passage(text: str, start: int = 0, end: int | None = None) -> str:
    """Return the passage of a text that a citation is for, truncated with a note."""
    length = (len(text) if end is None else end) - start
    excerpt = text[start : start + min(length, MAX_PASSAGE)]
    return f"{excerpt}[{left_out(length - MAX_PASSAGE)}]" if length > MAX_PASSAGE else excerpt


def input_text(values: Any) -> str:
    """Return the query, the address or the code that a tool got if it is all of its input, else its input as JSON."""
    if not isinstance(values, dict):
        return ""
    texts = [value for value in values.values() if isinstance(value, str) and value]
    only = next((values[name] for name in ("query", "url", "code", "command") if values.get(name)), None)
    if isinstance(only, str) and len(texts) == 1:
        return only
    return json.dumps(values, ensure_ascii=False) if values else ""


def unknown_part(kind: str, part: Mapping[str, Any]) -> ProviderCall | None:
    """Return a part of a reply of unknown kind as a tool of the provider, with its contents; None if it has none.

    Contents that only the provider can read are no contents.
    """
    contents = {
        name: value
        for name, value in part.items()
        if name not in _NO_CONTENT and not name.startswith("encrypted") and value not in (None, "", [], {})
    }
    if not contents:
        return None
    only = next(iter(contents.values()))
    is_text = len(contents) == 1 and isinstance(only, str)
    text = only if is_text else json.dumps(contents, ensure_ascii=False, default=str)
    if len(text) > MAX_UNKNOWN:
        text = f"{text[:MAX_UNKNOWN]}[{left_out(len(text) - MAX_UNKNOWN)}]"
    return ProviderCall(shorten(kind.removesuffix("_call"), 60) or "tool", output=text)


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
