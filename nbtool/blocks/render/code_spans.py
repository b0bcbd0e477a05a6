"""Texts as HTML: escaped, with what stands in single backticks as code."""

from __future__ import annotations

import re

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.sanitize import strip_stacks

MAX_SPANS = 50
"""Spans of code in one line; further ones are shown with their backticks."""

_CODE_SPANS = re.compile(r"([$&]`[^`\n]*`|``+)|`([^`\n]{1,200})`")


def escape_with_code(text: str) -> str:
    """Escape a text, and show its spans in single backticks as code; nothing else in it is markup."""
    parts: list[str] = []
    end = 0
    for match in _CODE_SPANS.finditer(text):
        if match[2] and len(parts) < 2 * MAX_SPANS:
            parts += [escape_text(text[end : match.start()]), f"<code>{escape_text(match[2])}</code>"]
            end = match.end()
    return "".join(parts) + escape_text(text[end:])


def escape_text(text: str) -> str:
    """Escape a text, without stacks of combining characters."""
    return escapeHtml(strip_stacks(text))
