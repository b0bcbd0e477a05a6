"""What a server lists besides its tools: all pages within bounds, names and descriptions in one line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from nbtool.errors import McpFailed
from nbtool.text import shorten
from nbtool.tools.mcp.catalog.tool_list import MAX_PAGES
from nbtool.tools.values.sanitize import single_line

MAX_ENTRIES = 500
"""Maximum number of prompts or resources of one server."""

MAX_LABEL = 200
"""Maximum number of characters of a name that is shown."""

MAX_ABOUT = 500
"""Maximum number of characters of a description that is shown."""

Entry = TypeVar("Entry")


async def list_all_pages(page: Callable[[str | None], Awaitable[tuple[Iterable[Entry], str | None]]]) -> list[Entry]:
    """Return the entries of all pages; `page` returns those at a cursor, and the next cursor.

    Raises:
        McpFailed: there are too many entries or pages.
    """
    found: list[Entry] = []
    cursor = None
    for _ in range(MAX_PAGES):
        entries, cursor = await page(cursor)
        found += entries
        if len(found) > MAX_ENTRIES:
            raise McpFailed(f"The MCP server lists more than {MAX_ENTRIES} of them.")
        if cursor is None:
            return found
    raise McpFailed(f"The MCP server lists them in more than {MAX_PAGES} pages.")


def entry_label(text: str) -> str:
    """Return a name in one line."""
    return shorten(single_line(text), MAX_LABEL)


def entry_description(entry: Any) -> str:
    """Return the description of a prompt or resource in one line, or else its title."""
    return shorten(single_line(entry.description or entry.title or ""), MAX_ABOUT)
