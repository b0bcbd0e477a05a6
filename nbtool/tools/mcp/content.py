"""What a server answers → a Python value: data, text and media, each once."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nbtool.errors import ToolFailed
from nbtool.messages import Media
from nbtool.shorten import shorten
from nbtool.tools.values.sanitize import visible

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

_WORD = re.compile(r"\w+")
MAX_NAME = 200
"""Characters of the name of what a server sends."""

_MIME = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}")


def value_of(result: CallToolResult) -> Any:
    """Give what a tool answered; one thing as itself, several as a list.

    What stands both in the text and in the structured content is given once, by the one that says more: data is better
    than the same as text, and a text is better than an object of that text alone; where neither covers the other, both
    are given. Structured content that repeats an image or a sound is left out.

    Raises:
        ToolFailed: the server says that the call failed, in its own words.
    """
    parts: list[Any] = [_part(block) for block in result.content]
    if result.is_error:
        raise ToolFailed("\n".join(map(str, parts)).strip() or "The tool failed and did not say why.")
    texts = [part for part in parts if isinstance(part, str)]
    media = [part for part in parts if not isinstance(part, str)]
    data = result.structured_content
    if data is None or (media and _repeats(data, result.content)):
        value = parts if media else ["\n".join(texts)] if texts else []
    elif media:
        value = [*parts, unwrapped(data)] if _better(texts, data) != "text" else parts
    else:
        value = {"data": [unwrapped(data)], "text": ["\n".join(texts)], "both": ["\n".join(texts), unwrapped(data)]}[
            _better(texts, data)
        ]
    return value[0] if len(value) == 1 else value or None


def unwrapped(data: Any) -> Any:
    """Give structured content without the object that packages put around a result that is none."""
    return data["result"] if isinstance(data, dict) and list(data) == ["result"] else data


def _better(texts: list[str], data: Any) -> Literal["data", "text", "both"]:
    """Say which of the two covers the other."""
    text, inner = "\n".join(texts).strip(), unwrapped(data)
    if not text or _is_json_of(text, data, inner) or [_json(one) for one in texts] == inner:
        return "data"
    leaves = list(_leaves(inner))
    if isinstance(inner, dict) and all(isinstance(leaf, str) and leaf.strip() == text for leaf in leaves):
        return "text"
    said = _words(text)
    if said <= _words(json.dumps(inner, ensure_ascii=False)):
        return "data"
    return "text" if all(_words(str(leaf)) <= said for leaf in leaves) else "both"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _is_json_of(text: str, *values: Any) -> bool:
    written = _json(text)
    return any(written == value or text == str(value) for value in values)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _leaves(value: Any) -> Iterator[Any]:
    """Give the texts, numbers and truth values within a value."""
    rest = [value]
    while rest:
        match rest.pop():
            case dict() as members:
                rest += members.values()
            case list() as items:
                rest += items
            case leaf:
                yield leaf


def _repeats(data: Any, content: Sequence[ContentBlock]) -> bool:
    """Whether structured content holds the bytes of an image or a sound that stands beside it."""
    inside = {leaf for leaf in _leaves(data) if isinstance(leaf, str)}
    return any(getattr(block, "data", None) in inside for block in content)


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
        return Media(mime, b64decode(data, validate=True), name=shorten(visible(name), MAX_NAME))
    except (binascii.Error, ValueError):
        return f"[{mime} that is no base64]"
