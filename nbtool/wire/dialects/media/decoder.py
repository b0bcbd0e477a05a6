"""The decoders of images and sound: one whole body each, parsed when it is complete.

HTTP reports an incomplete body that has a length or is chunked. A JSON body, and a WAV that contains its length, are
checked too; other audio that ends with the connection cannot be checked.
"""

from __future__ import annotations

import mimetypes
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from nbtool.errors import IncompleteReply, InvalidReply, ReplyTooLarge
from nbtool.events import Delta, MediaDelta, ReplyEnd, TextDelta, UsageDelta
from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff
from nbtool.text import clean_text, count_of
from nbtool.wire.base import Decoder
from nbtool.wire.dialects.responses.output_items import read_usage
from nbtool.wire.dialects.usage_fields import CumulativeUsage
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES, PayloadReader
from nbtool.wire.framing.provider_errors import provider_error
from nbtool.wire.framing.redaction import excerpt

ReadBody = Callable[[bytes], list[Delta]]

MAX_IMAGES = 64
"""Maximum number of images of one reply."""

_CHECK = "Check the address, and that the server knows this model."
_PAGES = (b"<!doctype", b"<html", b"<head", b"<?xml")
_NO_REASON = 0xFFFFFFFF
"""The length in the header of a WAV that was written as a stream."""


class MediaDecoder(Decoder):
    """Collects the bytes of one reply and parses them at the end; see `nbtool.wire.base.Decoder`."""

    def __init__(self, read: ReadBody) -> None:
        self._read = read
        self._chunks: list[bytes] = []
        self._size = 0

    @property
    def is_done(self) -> bool:
        """Always False: only the end of the body ends the reply."""
        return False

    def feed(self, data: bytes, deltas: list[Delta]) -> None:  # noqa: ARG002 - nothing is read before the end
        """Feed the next bytes.

        Raises:
            nbtool.errors.ReplyTooLarge: the body exceeds its limit.
        """
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            raise ReplyTooLarge(f"The reply is larger than {MAX_BODY_BYTES >> 20} MiB.", fix="Ask for less.")
        self._chunks.append(data)

    def close(self, deltas: list[Delta]) -> None:
        """Parse the body; an empty one is an error.

        Raises:
            nbtool.errors.WireError: it reports an error, is cut off, or is not of the dialect.
        """
        body = b"".join(self._chunks)
        self._chunks.clear()
        if body.strip():
            deltas += self._read(body)


def read_images(body: bytes) -> list[Delta]:
    """Parse the images of a reply, each followed by the prompt as the provider revised it."""
    payload = _document(body)
    items = payload.get("data")
    images = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if len(images) > MAX_IMAGES:
        raise ReplyTooLarge(f"The reply holds more than {MAX_IMAGES} images.", fix="Ask for fewer.")
    deltas: list[Delta] = []
    for item in images:
        deltas.append(MediaDelta(_image(item)))
        if isinstance(revised_prompt := item.get("revised_prompt"), str) and revised_prompt.strip():
            deltas.append(TextDelta(f"Revised prompt: {clean_text(revised_prompt.strip())}\n"))
    if not deltas:
        raise InvalidReply("The reply holds no image.", fix=_CHECK)
    return [*deltas, *_usage(payload), ReplyEnd("end")]


def read_transcription(body: bytes) -> list[Delta]:
    """Parse a transcription: the text of JSON, or the whole of any other body (plain text, SRT, VTT).

    Timestamps and speakers, if requested, are kept in the message's native form.
    """
    if body.lstrip()[:1] != b"{":
        if _is_page(body):
            raise InvalidReply(f"A page came in place of a text: {excerpt(body)!r}.", fix=_CHECK)
        return [TextDelta(clean_text(body.decode("utf-8-sig", "replace")).strip()), ReplyEnd("end")]
    payload = _document(body)
    text = payload.get("text")
    if not isinstance(text, str):
        raise InvalidReply("The reply holds no text of what was said.", fix=_CHECK)
    prose = [TextDelta(clean_text(text.strip()))] if text.strip() else []
    return [*prose, *_usage(payload), ReplyEnd("end", native=payload)]


def read_speech(body: bytes) -> list[Delta]:
    """Parse the audio of a reply."""
    mime = sniff(body)
    if mime.startswith("audio/"):
        if mime == "audio/wav" and len(body) < 8 + (size := int.from_bytes(body[4:8], "little")) < _NO_REASON:
            raise IncompleteReply(
                f"The sound is cut off: {len(body):,} of {count_of(8 + size, 'byte')} came.", fix="Send it again."
            )
        return [MediaDelta(Media(mime, data=body)), ReplyEnd("end")]
    if body.lstrip()[:1] == b"{":
        _document(body)
    raise InvalidReply(
        f"What came is no sound that can be played: {excerpt(body)!r}.",
        fix="Use mp3, wav, flac, aac or opus as `response_format`; raw PCM cannot be told from noise.",
    )


def _document(body: bytes) -> dict[str, Any]:
    """Parse a body that must be a JSON object and not an error."""
    reader = PayloadReader()
    values = [*reader.feed(body), *reader.close()]
    payload = values[0][1] if reader.is_document and values else None
    if not isinstance(payload, dict):
        raise InvalidReply(f"The reply is no JSON object: {excerpt(body)!r}.", fix=_CHECK)
    if payload.get("error"):
        raise provider_error(payload)
    return payload


def _image(item: dict[str, Any]) -> Media:
    """Parse one image: its bytes, or its URL, which is kept and never fetched."""
    encoded, url = item.get("b64_json"), item.get("url")
    if isinstance(url, str) and url.startswith("data:"):
        encoded, url = url, None
    if isinstance(encoded, str) and encoded:
        data = _decode_base64(encoded)
        if (mime := sniff(data)) not in IMAGES:
            raise InvalidReply("What came is none of PNG, JPEG, WebP and GIF.", fix=_CHECK)
        return Media(mime, data=data)
    if isinstance(url, str) and _is_web_url(url):
        sniffed, _ = mimetypes.guess_type(urlsplit(url).path)
        return Media(sniffed if sniffed in IMAGES else "image/png", url=url)
    raise InvalidReply("The reply names an image and does not hold it.", fix=_CHECK)


def _decode_base64(encoded: str) -> bytes:
    try:
        return b64decode(encoded.rpartition(",")[2], validate=True)
    except ValueError:
        raise InvalidReply("The image that came is no base64.", fix="Send it again.") from None


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _usage(payload: dict[str, Any]) -> list[Delta]:
    """Parse the usage; a transcription may be counted in seconds, which are not tokens.

    Drawing an SVG is a step of its own, by another model (`svg_usage`).
    """
    usage, svg = payload.get("usage"), payload.get("svg_usage")
    if not isinstance(usage, dict) or usage.get("type") == "duration":
        return []
    counted = CumulativeUsage(read_usage)
    counted.set_model(payload.get("model"))
    counted.add(usage)
    step = CumulativeUsage(read_usage)
    step.set_model(svg.get("model") if isinstance(svg, dict) else None)
    steps = (step.usage,) if step.add(svg) else ()
    return [UsageDelta(counted.usage.with_steps(steps))]


def _is_page(body: bytes) -> bool:
    return body.lstrip()[:16].lower().startswith(_PAGES)
