"""The images and sounds of a turn: referenced in its document by a key, and saved with it in a notebook.

They come from tools and from attachments, never from model output. The page shows the types that
every browser renders or plays without executing anything, and requests their bytes by key.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, cast

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.protocol import Document, MediaData
from nbtool.blocks.sanitize import one_line
from nbtool.messages import Media
from nbtool.mime import IMAGES
from nbtool.text import clean_text, count_of

SOUND_TYPES = ("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac", "audio/mp4")
"""The sounds that a page plays."""

MAX_DISPLAYED = 20
"""Images, sounds and files that are listed of a call, or of a prompt."""

SHOWN_LIMIT = 4 * 1024 * 1024
"""Bytes of an image or a sound that is sent to a page."""

SAVED_LIMIT = 300_000
"""Characters of base64 of all images and sounds of a turn in a saved notebook, in each of its two forms."""

SENT_NOTES = {True: "sent to the model", False: "only you see it: not sent to the model"}
"""Whether the model got what a tool returned, in the words of the page too."""

_CAPTION = "font-size:85%;opacity:.75"


def media_data(media: Iterable[Media], store: dict[str, Media]) -> list[MediaData]:
    """Describe images, sounds and files, and store their bytes in `shelf` by key."""
    shapes: list[MediaData] = []
    every = list(media)
    for item in every[:MAX_DISPLAYED]:
        data = item.data or b""
        key = sha256(data).hexdigest()[:32] if data else ""
        if key:
            store[key] = item
        name = one_line(clean_text(item.name or item.url or ""), 200)
        shapes.append({"key": key, "mime": one_line(clean_text(item.mime), 100), "name": name, "size": len(data)})
    if len(every) > MAX_DISPLAYED:
        shapes.append({"key": "", "mime": "", "name": f"… {len(every) - MAX_DISPLAYED:,} more", "size": 0})
    return shapes


def embed_media(document: Document, store: Mapping[str, Media]) -> tuple[Document, int]:
    """Add the bytes of images and sounds to a document, up to `SAVED_LIMIT`; return their total size."""
    left = SAVED_LIMIT

    def with_bytes(shape: MediaData) -> MediaData:
        nonlocal left
        media = store.get(shape["key"])
        if media is None or not is_shown(shape) or shape["size"] * 4 // 3 + 4 > left:
            return shape
        data = b64encode(media.data or b"").decode()
        left -= len(data)
        return {**shape, "data": data}

    head: dict[str, Any] = dict(document["head"])
    if "attached" in head:
        head["attached"] = [with_bytes(shape) for shape in head["attached"]]
    blocks = [
        {**block, "media": [with_bytes(shape) for shape in block["media"]]}
        if block["kind"] == "call" and "media" in block
        else block
        for block in document["blocks"]
    ]
    return cast("Document", {**document, "head": head, "blocks": blocks}), SAVED_LIMIT - left


def displayable_bytes(media: Media | None) -> bytes | None:
    """Return the bytes to send to a page; None if there are none, or too many."""
    return media.data if media and media.data and len(media.data) <= SHOWN_LIMIT else None


def is_shown(shape: MediaData) -> bool:
    """Return whether a page renders or plays this."""
    return shape["mime"] in (*IMAGES, *SOUND_TYPES)


def describe(shape: MediaData) -> str:
    """Describe the type and size in one line, and whether the model got it where that is known."""
    size = f"{count_of(shape['size'], 'byte')}" if shape["size"] else ""
    note = SENT_NOTES[shape["is_sent"]] if "is_sent" in shape else ""
    return ", ".join(part for part in (shape["name"], shape["mime"], size, note) if part)


def to_html(shapes: Iterable[MediaData]) -> str:
    """Render images and sounds as HTML that loads nothing; one that is not saved becomes a line of text."""
    return "".join(_figure(shape) for shape in shapes)


def _figure(shape: MediaData) -> str:
    line = escapeHtml(describe(shape))
    data = shape.get("data", "")
    if not data or not is_shown(shape):
        note = ": too large to save in the notebook" if is_shown(shape) and shape["size"] else ""
        return f'<div style="{_CAPTION}">[{line}{note}]</div>'
    source = f"data:{shape['mime']};base64,{data}"
    if shape["mime"] in IMAGES:
        note = f'<div style="{_CAPTION}">{SENT_NOTES[shape["is_sent"]]}</div>' if "is_sent" in shape else ""
        return f'<div><img alt="{line}" src="{source}" style="max-width:100%;max-height:24em">{note}</div>'
    return f'<div><audio controls preload="none" src="{source}"></audio><div style="{_CAPTION}">{line}</div></div>'
