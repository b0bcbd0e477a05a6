"""What the provider ran and which sources it names, as texts of a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbtool.blocks.sanitize import one_line
from nbtool.messages import Citation, Link, ProviderCall

MAX_LINKS = 20
"""Maximum number of links, or of sources, in one text; the text says how many there are beyond it."""

_PAGE = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#!|~$&])")


def provider_call_text(call: ProviderCall) -> str:
    """Return a tool that the provider ran as lines: what was asked for, what came of it, and the pages."""
    if call.was_stopped:
        return f"The agent tried this by itself, and was stopped: {one_line(call.tool)}\n{call.output}"
    lines = [f"Run by the provider, not in this notebook: {one_line(call.tool)}"]
    lines += [call.text] if call.text else []
    lines += [f"Result: {call.output}"] if call.output else []
    lines += [f"{one_line(link.title)}: {one_line(link.url)}" if link.title else one_line(link.url)
              for link in call.links[:MAX_LINKS]]  # fmt: skip
    return "\n".join([*lines, *_remaining(len(call.links))])


def sources_text(citations: Iterable[Citation]) -> str:
    """Return sources as a list in Markdown, each page once; empty if there are none."""
    links = list(dict.fromkeys(citation.link for citation in citations))
    items = [f"{number}. {_markdown_link(link)}" for number, link in enumerate(links[:MAX_LINKS], 1)]
    return "\n".join(["**Sources**", "", *items, *_remaining(len(links))]) if items else ""


def _markdown_link(link: Link) -> str:
    title = _MARKUP.sub(r"\\\1", one_line(link.title or link.url))
    return f"[{title}](<{link.url}>)" if _PAGE.fullmatch(link.url) else title


def _remaining(count: int) -> list[str]:
    return [f"and {count - MAX_LINKS} more"] if count > MAX_LINKS else []
