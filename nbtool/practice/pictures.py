"""Images of the practice model: descriptions of attached images, and patterns drawn from a prompt."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from nbtool.text import count_of

CELLS, SCALE = 8, 32
"""Number of cells per side of a drawing, and of pixels per side of a cell."""

PAPER = (250, 248, 240)
PNG = b"\x89PNG\r\n\x1a\n"


def make_png(prompt: str) -> bytes:
    """Draw a left-right symmetric pattern that depends only on the prompt; return a PNG."""
    digest = hashlib.sha256(prompt.encode()).digest()
    colors = [tuple(40 + byte % 160 for byte in digest[start : start + 3]) for start in (0, 3)]
    rows = []
    for row in range(CELLS):
        half_row = [digest[(row * CELLS // 2 + column) % len(digest)] for column in range(CELLS // 2)]
        cells = [(PAPER, colors[0], PAPER, colors[1])[byte % 4] for byte in half_row]
        line = b"".join(bytes(cell) * SCALE for cell in (*cells, *reversed(cells)))
        rows.append((b"\0" + line) * SCALE)
    pixels = CELLS * SCALE
    header = struct.pack(">IIBBBBB", pixels, pixels, 8, 2, 0, 0, 0)  # 8 bits, RGB: https://www.w3.org/TR/png-3/#11IHDR
    return PNG + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(b"".join(rows))) + _chunk(b"IEND", b"")


def image_response(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of `/images/generations`."""
    prompt = str(body["prompt"])
    item = {"b64_json": base64.b64encode(make_png(prompt)).decode(), "revised_prompt": f"A pattern, not: {prompt}"}
    return {"created": 0, "data": [item]}


def describe_image(part: Mapping[str, Any]) -> str:
    """Return a short description of a message part that is not text; '' for a text."""
    if part.get("type") != "image_url":
        return "" if part.get("type") == "text" else str(part.get("type"))
    prefix, _, encoded = str(part["image_url"]["url"]).partition(";base64,")
    if not encoded:
        return f"an image at {prefix[:200]}"
    try:
        data = base64.b64decode(encoded)
    except binascii.Error:
        return "an image that is no base64"
    kind = prefix.removeprefix("data:")
    size = "{} by {} pixels, ".format(*struct.unpack(">II", data[16:24])) if data[:8] == PNG and len(data) > 24 else ""
    return f"{kind}, {size}{count_of(len(data), 'byte')}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
