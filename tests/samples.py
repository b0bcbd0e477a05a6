"""Small images and sounds, and the answers of a server that makes them."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Mapping
from email import message_from_bytes
from email.message import Message as Form
from typing import Any

from tests.chaos import Received, whole


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", bytes((0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0)))
    + chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + chunk(b"IEND", b"")
)
WAV = b"RIFF" + (40).to_bytes(4, "little") + b"WAVEfmt " + bytes(32)
MP3 = b"ID3\x04\x00\x00\x00\x00\x00\x00" + bytes(100)
JPEG = b"\xff\xd8\xff\xe0" + bytes(20)


def image_response(*images: Mapping[str, Any], **more: Any) -> bytes:
    """Give the answer of a server that made these images."""
    return whole(200, {"created": 1, "data": [dict(image) for image in images], **more})


def as_base64(data: bytes, **more: Any) -> dict[str, Any]:
    return {"b64_json": b64encode(data).decode(), **more}


def form_of(request: Received) -> dict[str, list[Form]]:
    """Read a form as a server does: its parts by the name of their field."""
    parsed = message_from_bytes(b"content-type: " + request.headers["content-type"].encode() + b"\n\n" + request.body)
    parts: dict[str, list[Form]] = {}
    for part in parsed.get_payload():  # type: ignore[union-attr]  # a multipart message has messages
        name = part.get_param("name", header="content-disposition")  # type: ignore[union-attr]  # the same
        parts.setdefault(str(name), []).append(part)  # type: ignore[arg-type]  # the same
    return parts


def form_values(form: dict[str, list[Form]], name: str) -> list[bytes]:
    return [part.get_payload(decode=True) for part in form[name]]  # type: ignore[misc]  # a leaf holds bytes
