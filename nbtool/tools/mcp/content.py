"""What a server answers → a Python value: what it says in JSON, text, and media."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from nbtool.errors import ToolFailed
from nbtool.messages import Media
from nbtool.tools.plain import visible

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

_MIME = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}")


def value_of(result: CallToolResult) -> Any:
    """Give what a tool answered; one thing as itself, several as a list.

    Where it is said in JSON, the text beside it is the same once more and left out (as the specification has it:
    https://modelcontextprotocol.io/specification/2025-06-18/server/tools#structured-content); where there are images or
    sounds, the JSON is left out, for servers write those into it too.

    Raises:
        ToolFailed: the server says that the call failed, in its own words.
    """
    parts: list[Any] = [_part(block) for block in result.content]
    if result.is_error:
        raise ToolFailed("\n".join(map(str, parts)).strip() or "The tool failed and did not say why.")
    structured = result.structured_content
    if any(isinstance(part, Media) for part in parts):
        return parts[0] if len(parts) == 1 else parts
    if structured is None:
        return "\n".join(parts) if parts else None
    is_wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    return structured["result"] if is_wrapped else structured


def _part(block: ContentBlock) -> str | Media:
    """Give one block; nothing that it links to is fetched."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _media(block.data, block.mime_type, "")
        case "resource_link":
            return f"[{visible(block.name)}: {visible(str(block.uri))}]"
        case "resource":  # pragma: no branch - the protocol has no other block
            return _resource(block.resource)


def _resource(resource: TextResourceContents | BlobResourceContents) -> str | Media:
    if resource_text := getattr(resource, "text", ""):
        return str(resource_text)
    return _media(getattr(resource, "blob", ""), resource.mime_type, str(resource.uri))


def _media(data: str, mime: str | None, name: str) -> str | Media:
    mime = mime if mime and _MIME.fullmatch(mime) else "application/octet-stream"
    try:
        return Media(mime, b64decode(data, validate=True), name=visible(name)[-200:])
    except (binascii.Error, ValueError):
        return f"[{mime} that is no base64]"
