"""Tools that ran at the provider, and the sources of a text, in the blocks of an Anthropic reply.

See https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool and
https://docs.anthropic.com/en/docs/build-with-claude/citations.
"""

from __future__ import annotations

from typing import Any

from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire.dialects.provider_parts import input_text, unknown_part

Block = dict[str, Any]

USES = frozenset({"server_tool_use", "mcp_tool_use"})
"""The blocks in which a tool of the provider is called."""


_OUTPUTS = ("stdout", "stderr", "text", "content", "error_code", "error_message")
"""The fields of an outcome that contain its text."""

_LISTS = ("lines", "content", "tool_references")
"""The fields of an outcome that contain a list: the lines of a change, the files of code, the tools of a search."""

_ITEMS = {"text": "", "file_id": "file ", "tool_name": ""}
"""The fields of the items of such a list, and what is written before their values."""

_KNOWN = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "fallback", "mcp_tool_listing", *USES})
"""The blocks that are shown otherwise, or contain nothing to show."""


def is_outcome(block: Block) -> bool:
    """Whether a block is the outcome of a tool of the provider."""
    return _text(block, "type").endswith("_tool_result") and bool(_text(block, "tool_use_id"))


def provider_call(use: Block, outcome: Block | None = None) -> ProviderCall:
    """Return a call of a tool of the provider from its blocks."""
    name = ".".join(filter(None, (_text(use, "server_name"), _text(use, "name")))) or "tool"
    content = outcome.get("content") if outcome else None
    results = [record for record in (content if isinstance(content, list) else [content]) if isinstance(record, dict)]
    links = tuple(Link(url, _text(result, "title")) for result in results if (url := _text(result, "url")))
    return ProviderCall(name, input_text(use.get("input")), _output_text(content), links)


def unknown_block(block: Block) -> ProviderCall | None:
    """Return what a block of unknown kind contains, such as a summary with which the API replaced earlier messages."""
    kind = _text(block, "type")
    return None if kind in _KNOWN or is_outcome(block) else unknown_part(kind, block)


def citation(value: Any) -> Citation | None:
    """Return a source of a text; a document of the request has a title, or its number, and no address."""
    if not isinstance(value, dict):
        return None
    url = _text(value, "url") or _text(value, "source")
    title = _text(value, "title") or _text(value, "document_title")
    if not (url or title) and isinstance(index := value.get("document_index"), int):
        title = f"Document {index + 1}"
    return Citation(Link(url, title + _location(value)), _text(value, "cited_text")) if url or title else None


def _location(value: Block) -> str:
    """Return the pages or parts of a document that are cited; their ends are exclusive, and parts begin with 0."""
    for name, label, first in (("page_number", "page", 0), ("block_index", "part", 1)):
        start, end = value.get(f"start_{name}"), value.get(f"end_{name}")
        if value.get("document_index") is not None and isinstance(start, int) and isinstance(end, int):
            start, last = start + first, end - 1 + first
            return f", {label} {start}" if last <= start else f", {label}s {start}-{last}"
    return ""


def _output_text(content: Any) -> str:
    """Return the text of an outcome: what code printed, the text of blocks, or the code of an error."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_item_text, content)))
    if not isinstance(content, dict):
        return content if isinstance(content, str) else ""
    texts = [_text(content, name) for name in _OUTPUTS]
    for name in _LISTS:
        if isinstance(items := content.get(name), list):
            texts += map(_item_text, items)
    return "\n".join(filter(None, texts))


def _item_text(item: Any) -> str:
    """Return what an item of an outcome says: a line of a file, a text, a file that was written, a tool's name."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else ""
    return next((prefix + text for name, prefix in _ITEMS.items() if (text := _text(item, name))), "")


def _text(value: Block, name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
