"""Decompress response bodies incrementally, with a limit on the decompressed size.

A few hundred bytes of gzip can decompress to gigabytes, and each further layer multiplies that. So httpx never
decompresses anything here: every body is read raw, through `BodyReader`, which supports one layer of gzip or deflate
and decompresses at most one chunk ahead.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

from nbtool.errors import InvalidReply, ReplyTooLarge
from nbtool.text import count_of, shorten

if TYPE_CHECKING:
    import httpx

ACCEPT_ENCODING = "gzip, deflate"
"""The `accept-encoding` header: the only supported encodings."""

CHUNK_BYTES = 64 * 1024
"""Bytes that are decompressed at a time."""

MAX_MEMBERS = 1_000
"""Maximum number of members of one gzip body (RFC 1952 allows several)."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15  # the `wbits` of zlib for each header, with the largest window
_DECODE_FIX = "Try again, or have the server send it without compression."


class BodyReader:
    """Decompresses one body from bytes, split anywhere.

    `limit` applies to the decompressed and to the compressed size; once `is_over_limit`, nothing more is returned.

    Raises:
        nbtool.errors.InvalidReply: the body is compressed more than once, or with an encoding that was not accepted.
    """

    def __init__(self, encoding: str, limit: int, label: str) -> None:
        layers = [
            name for encoding_name in encoding.lower().split(",") if (name := encoding_name.strip()) not in _PLAIN
        ]
        if len(layers) > 1:
            raise InvalidReply(
                f"{label} sent a body that is compressed {count_of(len(layers), 'time')}.", fix=_DECODE_FIX
            )
        if layers and layers[0] not in (*_GZIP, "deflate"):
            raise InvalidReply(
                f"{label} compressed a body as {shorten(layers[0], 40)!r}, which was not requested.", fix=_DECODE_FIX
            )
        self.is_over_limit = False
        self._label = label
        self._limit = limit
        self._received = self._returned = self._members = 0
        self._is_gzip = bool(layers) and layers[0] in _GZIP
        self._is_compressed = bool(layers)
        self._decompressor: zlib._Decompress | None = None
        self._head = b""  # the first bytes of a compressed body, until its header is complete

    @property
    def is_complete(self) -> bool:
        """Whether the body is complete, as far as its encoding can tell."""
        if self.is_over_limit or not self._is_compressed:
            return not self.is_over_limit
        return not self._received or (self._decompressor is not None and self._decompressor.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Feed the next bytes and yield the decompressed chunks.

        Raises:
            nbtool.errors.InvalidReply: they cannot be decompressed.
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
        self.is_over_limit = self._received > self._limit  # input without output is limited too

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
                    f"{self._label} sent a body that cannot be decompressed ({error}).", fix=_DECODE_FIX
                ) from None
            yield chunk
            data = self._decompressor.unused_data if self._decompressor.eof else self._decompressor.unconsumed_tail
            if not data and len(chunk) < CHUNK_BYTES:
                return

    def _begin_member(self, data: bytes) -> bool:
        """Start the next member of a gzip body, if one follows; anything else is padding."""
        if not (self._is_gzip and data and b"\x1f\x8b".startswith(data[:2])):
            return False
        self._members += 1
        if self._members >= MAX_MEMBERS:
            raise InvalidReply(f"{self._label} sent a body of more than {MAX_MEMBERS:,} gzip members.", fix=_DECODE_FIX)
        self._decompressor = zlib.decompressobj(_GZIP_BITS)
        return True


def _window_bits(head: bytes, *, is_gzip: bool) -> int:
    """Return the `wbits` for zlib; some servers send deflate without the required zlib header (RFC 1950)."""
    if is_gzip:
        return _GZIP_BITS
    is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return _ZLIB_BITS if is_zlib else _RAW_BITS


async def read_body(response: httpx.Response, limit: int, label: str) -> AsyncGenerator[bytes, None]:
    """Yield the decompressed body of a response as it arrives.

    Raises:
        nbtool.errors.ReplyTooLarge: it is larger than `limit`.
        nbtool.errors.InvalidReply: it cannot be decompressed.
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
