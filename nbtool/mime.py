"""Detect the media type of bytes, and build the MIME bundle of an image or a sound.

Only the bytes decide, not the declared type: a file that claims to be an image but is not is not shown as one. SVG is
never shown, because it can contain scripts.
"""

from __future__ import annotations

import html
from base64 import b64encode

from nbtool.text import count_of

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""The images that every page can show and most models can read."""

MAX_DISPLAY_BYTES = 20 * 1024 * 1024
"""Maximum size of an image or a sound that is shown in a notebook, in bytes."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"%PDF-", "application/pdf"),
)
_RIFF_TYPES = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_MPEG_LAYER_3 = frozenset({0xFA, 0xFB, 0xF2, 0xF3, 0xE2, 0xE3})
_ADTS = frozenset({0xF0, 0xF1, 0xF8, 0xF9})

SNIFFED = frozenset(
    {mime for _, mime in _SIGNATURES} | set(_RIFF_TYPES.values()) | {"audio/aac", "audio/mp4", "video/mp4"}
)
"""Every media type that `sniff` can detect."""


def sniff(data: bytes) -> str:
    """Return the media type of bytes by their signature; empty if it is not one of `SNIFFED`."""
    for signature, mime in _SIGNATURES:
        if data.startswith(signature):
            return mime
    if data[:4] == b"RIFF":
        return _RIFF_TYPES.get(data[8:12], "")
    if data[4:8] == b"ftyp":
        return "audio/mp4" if data[8:11] in (b"M4A", b"M4B") else "video/mp4"
    if data[:1] == b"\xff" and len(data) > 1:  # frames without a container header: MPEG audio layer III, or AAC
        return "audio/mpeg" if data[1] in _MPEG_LAYER_3 else "audio/aac" if data[1] in _ADTS else ""
    return ""


def describe_media(mime: str, data: bytes | None, url: str | None, name: str = "") -> str:
    """Return one line with the name, media type and size or URL of an image, a sound or a file."""
    label = f"{name} ({mime})" if name else mime
    return f"{label} at {url}" if data is None else f"{label}, {count_of(len(data), 'byte')}"


def media_bundle(mime: str, data: bytes | None, url: str | None, name: str = "") -> dict[str, str]:
    """Return the MIME bundle for display: an image, a sound with controls, or a line of text.

    Nothing is fetched: media with a URL only is shown as a link.
    """
    line = describe_media(mime, data, url, name)
    mimebundle = {"text/plain": line}
    if data is None:
        if url and url.startswith(("https://", "http://")):
            link = html.escape(url)
            mimebundle["text/html"] = (
                f'<a href="{link}" target="_blank" rel="noopener noreferrer">{html.escape(line)}</a>'
            )
        return mimebundle
    if len(data) > MAX_DISPLAY_BYTES:
        return {"text/plain": f"{line}: too large to show (limit: {MAX_DISPLAY_BYTES >> 20} MiB); see `.data`"}
    sniffed = sniff(data)
    if sniffed in IMAGES:
        return {sniffed: b64encode(data).decode(), **mimebundle}
    if sniffed.startswith("audio/"):
        mimebundle["text/html"] = f'<audio controls src="data:{sniffed};base64,{b64encode(data).decode()}"></audio>'
    return mimebundle
