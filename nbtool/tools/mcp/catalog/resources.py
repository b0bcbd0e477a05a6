"""The resources of a server: the list, links in results, and the content of one."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtool.messages import Media
from nbtool.text import shorten
from nbtool.tools.mcp.catalog.entries import (
    MAX_LABEL,
    Note,
    entry_description,
    entry_label,
    list_all_pages,
    listed_entries,
    text_field,
)
from nbtool.tools.values.sanitize import single_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import BlobResourceContents, TextResourceContents

_MIME = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}")


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource that a server lists, or that a result of its tools links to; `McpServer.read_resource` reads it.

    A model gets its name and address, and can pass it to a tool by reference. `uri` is as the server sent it.
    """

    server: str
    uri: str
    name: str
    description: str = ""
    mime: str = ""

    def __str__(self) -> str:
        return f"[{self.name}: {single_line(self.uri)}]"

    def _repr_llm_(self) -> str:
        return str(self)


async def list_resources(server: str, note: Note, client: Client) -> tuple[RemoteResource, ...]:
    """List the resources; none of a server without them."""
    if client.server_capabilities.resources is None:
        return ()

    async def page(cursor: str | None) -> tuple[Iterable[Any], str | None]:
        result = await client.list_resources(cursor=cursor)
        return listed_entries(result, "uri", note), result.next_cursor

    found = await list_all_pages(page)
    return tuple([as_resource(server, item) for item in found])


def as_resource(server: str, entry: Mapping[str, Any]) -> RemoteResource:
    """Return an entry of the list, or a link of a result, which is not fetched."""
    name, about = entry_label(text_field(entry, "name") or entry["uri"]), entry_description(entry)
    return RemoteResource(server, entry["uri"], name, about, entry_label(text_field(entry, "mimeType")))


async def read_resource(uri: str, client: Client) -> Any:
    """Return the content of a resource: a text, or media; of several parts a list."""
    result = await client.read_resource(uri)
    parts = [resource_value(part) for part in result.contents]
    return parts[0] if len(parts) == 1 else parts


def resource_value(resource: TextResourceContents | BlobResourceContents) -> str | Media:
    """Return the content of a resource: its text, or media."""
    if resource_text := getattr(resource, "text", ""):
        return str(resource_text)
    return as_media(getattr(resource, "blob", ""), resource.mime_type, str(resource.uri))


def as_media(data: str, mime: str | None, name: str) -> str | Media:
    """Return the bytes of base64 as media; if it is not valid, a line that says so."""
    mime = mime if mime and _MIME.fullmatch(mime) else "application/octet-stream"
    try:
        return Media(mime, b64decode(data, validate=True), name=shorten(single_line(name), MAX_LABEL))
    except (binascii.Error, ValueError):
        return f"[{mime} that is not valid base64]"
