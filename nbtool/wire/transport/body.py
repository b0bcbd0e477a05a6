"""Bodies of answers: unpacked piece by piece, within a bound that counts unpacked bytes.

A few hundred bytes of gzip can unpack to gigabytes, and each further layer multiplies that. So httpx never unpacks
anything here: every body is read raw, through `BodyReader`, which knows one layer of gzip or deflate and never unpacks
more than a piece ahead of what was taken.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

from nbtool.errors import InvalidReply, ReplyTooLarge
from nbtool.shorten import shorten

if TYPE_CHECKING:
    import httpx

ACCEPT_ENCODING = "gzip, deflate"
"""The encodings that are asked for, and the only ones that are read."""

CHUNK_BYTES = 64 * 1024
"""Bytes that are unpacked at a time."""

MAX_MEMBERS = 1_000
"""Members of one gzip body: RFC 1952 allows several in a row."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15  # how zlib is told which head to expect, with the widest window
_DECODE_FIX = "Try again, or have the server send it without compression."


class BodyReader:
    """Unpacks one body; it is fed what comes from the socket, cut anywhere.

    `limit` bounds the unpacked bytes, and the packed ones as well; `is_over_limit` says that it was reached, after
    which nothing more is given.

    Raises:
        nbtool.errors.InvalidReply: the body is compressed more than once, or in a way that was not asked for.
    """

    def __init__(self, encoding: str, limit: int, label: str) -> None:
        layers = [
            name for encoding_name in encoding.lower().split(",") if (name := encoding_name.strip()) not in _PLAIN
        ]
        if len(layers) > 1:
            raise InvalidReply(f"{label} sent a body that is compressed {len(layers)} times over.", fix=_DECODE_FIX)
        if layers and layers[0] not in (*_GZIP, "deflate"):
            raise InvalidReply(
                f"{label} compressed a body as {shorten(layers[0], 40)!r}, which was not asked for.", fix=_DECODE_FIX
            )
        self.is_over_limit = False
        self._label = label
        self._limit = limit
        self._received = self._returned = self._members = 0
        self._is_gzip = bool(layers) and layers[0] in _GZIP
        self._is_compressed = bool(layers)
        self._decompressor: zlib._Decompress | None = None
        self._head = b""  # the first bytes of a packed body, until they say how it is packed

    @property
    def is_complete(self) -> bool:
        """Whether what was given is a whole body, as far as its encoding can tell."""
        if self.is_over_limit or not self._is_compressed:
            return not self.is_over_limit
        return not self._received or (self._decompressor is not None and self._decompressor.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes and give what they unpack to, a piece at a time.

        Raises:
            nbtool.errors.InvalidReply: they cannot be unpacked.
        """
        self._received += len(data)
        for chunk in self._decompress(data) if self._is_compressed else (data,):
            remaining = self._limit - self._returned
            self._returned += len(chunk)
            if chunk and remaining:
                yield chunk[:remaining]
            if len(chunk) > remaining:
                self.is_over_limit = True
                return
        self.is_over_limit = self._received > self._limit  # what unpacks to nothing has no end either

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        if self._decompressor is None:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            self._decompressor = zlib.decompressobj(_window_bits(data, is_gzip=self._is_gzip))
        while not self._decompressor.eof or self._begin_member(data):
            try:
                chunk = self._decompressor.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise InvalidReply(
                    f"{self._label} sent a body that cannot be unpacked ({error}).", fix=_DECODE_FIX
                ) from None
            yield chunk
            data = self._decompressor.unused_data if self._decompressor.eof else self._decompressor.unconsumed_tail
            if not data and len(chunk) < CHUNK_BYTES:
                return

    def _begin_member(self, data: bytes) -> bool:
        """Say whether another member of a gzip body follows, and make ready for it; anything else is padding."""
        if not (self._is_gzip and data and b"\x1f\x8b".startswith(data[:2])):
            return False
        self._members += 1
        if self._members >= MAX_MEMBERS:
            raise InvalidReply(f"{self._label} sent a body of more than {MAX_MEMBERS:,} gzip members.", fix=_DECODE_FIX)
        self._decompressor = zlib.decompressobj(_GZIP_BITS)
        return True


def _window_bits(head: bytes, *, is_gzip: bool) -> int:
    """Choose how to unpack; servers exist that send deflate without the zlib head (RFC 1950) that belongs before it."""
    if is_gzip:
        return _GZIP_BITS
    is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return _ZLIB_BITS if is_zlib else _RAW_BITS


async def read_body(response: httpx.Response, limit: int, label: str) -> AsyncGenerator[bytes, None]:
    """Give the body of an answer as it comes, unpacked.

    Raises:
        nbtool.errors.ReplyTooLarge: it is larger than `limit`.
        nbtool.errors.InvalidReply: it cannot be unpacked.
    """
    reader = BodyReader(response.headers.get("content-encoding", ""), limit, label)
    async for data in response.aiter_raw():
        for chunk in reader.feed(data):
            yield chunk
        if reader.is_over_limit:
            raise ReplyTooLarge(f"What {label} sent is larger than {_size(limit)}.", fix="Ask for less.")


async def read_start(response: httpx.Response, limit: int, label: str) -> tuple[bytes, bool]:
    """Read a body up to a limit; gives it, and whether that is the whole of it.

    Raises:
        nbtool.errors.InvalidReply: it cannot be unpacked.
    """
    reader = BodyReader(response.headers.get("content-encoding", ""), limit, label)
    body = bytearray()
    async for data in response.aiter_raw():
        for chunk in reader.feed(data):
            body += chunk
        if reader.is_over_limit:
            break
    return bytes(body), reader.is_complete


def _size(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit:,} bytes"
