"""What a server lists besides its tools: all pages within bounds, names and descriptions in one line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from nbtool.errors import McpFailed
from nbtool.text import shorten
from nbtool.tools.mcp.catalog.tool_list import MAX_PAGES
from nbtool.tools.values.sanitize import single_line

LISTED = "nbtool/listed"
"""The key of the entries of a list, as the server sent them, in the metadata of an answer."""

MAX_ENTRIES = 500
"""Maximum number of prompts or resources of one server."""

MAX_LABEL = 200
"""Maximum number of characters of a name that is shown."""

MAX_ABOUT = 500
"""Maximum number of characters of a description that is shown."""

Entry = TypeVar("Entry")
Note = Callable[[str], object]
"""Receives what is wrong with a server's list, as what follows its name."""


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


def entry_description(entry: Mapping[str, Any]) -> str:
    """Return the description of a prompt or resource in one line, or else its title."""
    return shorten(single_line(text_field(entry, "description") or text_field(entry, "title")), MAX_ABOUT)


def text_field(entry: Any, key: str) -> str:
    """Return a text of an entry; empty if there is none, whatever stands in its place."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def listed_entries(answer: Any, key: str, note: Note) -> list[Mapping[str, Any]]:
    """Return the entries of an answer as the server sent them; those without a text under `key` are told to `note`."""
    listed = (answer.meta or {}).get(LISTED)
    entries = listed if isinstance(listed, list) else []
    fitting = [entry for entry in entries if text_field(entry, key)]
    if not isinstance(listed, list):
        note("answered without a list.")
    elif left_out := len(entries) - len(fitting):
        note(f"lists {left_out} of {len(entries)} entries without a valid {key!r}; they are left out.")
    return fitting
