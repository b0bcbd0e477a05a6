"""Bodies of answers: unpacked piece by piece, within a bound that counts unpacked bytes.

A few hundred bytes of gzip can unpack to gigabytes, and each further layer multiplies that. So httpx never unpacks
anything here: every body is read raw, through `BodyReader`, which knows one layer of gzip or deflate and never unpacks
more than a piece ahead of what was taken.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING

from nbtool.errors import BadReply, TooLarge
from nbtool.shorten import shorten

if TYPE_CHECKING:
    import httpx

ACCEPT_ENCODING = "gzip, deflate"
"""The encodings that are asked for, and the only ones that are read."""

PIECE = 64 * 1024
"""Bytes that are unpacked at a time."""

MAX_MEMBERS = 1_000
"""Members of one gzip body: RFC 1952 allows several in a row."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15  # how zlib is told which head to expect, with the widest window
_FIX = "Try again, or have the server send it without compression."


class BodyReader:
    """Unpacks one body; it is fed what comes from the socket, cut anywhere.

    `limit` bounds the unpacked bytes, and the packed ones as well; `is_over` says that it was reached, after which
    nothing more is given.

    Raises:
        nbtool.errors.BadReply: the body is compressed more than once, or in a way that was not asked for.
    """

    def __init__(self, encoding: str, limit: int, who: str) -> None:
        layers = [name for one in encoding.lower().split(",") if (name := one.strip()) not in _PLAIN]
        if len(layers) > 1:
            raise BadReply(f"{who} sent a body that is compressed {len(layers)} times over.", fix=_FIX)
        if layers and layers[0] not in (*_GZIP, "deflate"):
            raise BadReply(f"{who} compressed a body as {shorten(layers[0], 40)!r}, which was not asked for.", fix=_FIX)
        self.is_over = False
        self._who = who
        self._limit = limit
        self._came = self._given = self._members = 0
        self._is_gzip = bool(layers) and layers[0] in _GZIP
        self._is_packed = bool(layers)
        self._unpack: zlib._Decompress | None = None
        self._head = b""  # the first bytes of a packed body, until they say how it is packed

    @property
    def is_whole(self) -> bool:
        """Whether what was given is a whole body, as far as its encoding can tell."""
        if self.is_over or not self._is_packed:
            return not self.is_over
        return not self._came or (self._unpack is not None and self._unpack.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes and give what they unpack to, a piece at a time.

        Raises:
            nbtool.errors.BadReply: they cannot be unpacked.
        """
        self._came += len(data)
        for piece in self._unpacked(data) if self._is_packed else (data,):
            room = self._limit - self._given
            self._given += len(piece)
            if piece and room:
                yield piece[:room]
            if len(piece) > room:
                self.is_over = True
                return
        self.is_over = self._came > self._limit  # what unpacks to nothing has no end either

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._unpack is None:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            self._unpack = zlib.decompressobj(_window_bits(data, is_gzip=self._is_gzip))
        while not self._unpack.eof or self._begin_member(data):
            try:
                piece = self._unpack.decompress(data, PIECE)
            except zlib.error as error:
                raise BadReply(f"{self._who} sent a body that cannot be unpacked ({error}).", fix=_FIX) from None
            yield piece
            data = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if not data and len(piece) < PIECE:
                return

    def _begin_member(self, data: bytes) -> bool:
        """Say whether another member of a gzip body follows, and make ready for it; anything else is padding."""
        if not (self._is_gzip and data and b"\x1f\x8b".startswith(data[:2])):
            return False
        self._members += 1
        if self._members >= MAX_MEMBERS:
            raise BadReply(f"{self._who} sent a body of more than {MAX_MEMBERS:,} gzip members.", fix=_FIX)
        self._unpack = zlib.decompressobj(_GZIP_BITS)
        return True


def _window_bits(head: bytes, *, is_gzip: bool) -> int:
    """Choose how to unpack; servers exist that send deflate without the zlib head (RFC 1950) that belongs before it."""
    if is_gzip:
        return _GZIP_BITS
    is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return _ZLIB_BITS if is_zlib else _RAW_BITS


async def unpacked(response: httpx.Response, limit: int, who: str) -> AsyncGenerator[bytes, None]:
    """Give the body of an answer as it comes, unpacked.

    Raises:
        nbtool.errors.TooLarge: it is larger than `limit`.
        nbtool.errors.BadReply: it cannot be unpacked.
    """
    reader = BodyReader(response.headers.get("content-encoding", ""), limit, who)
    async for data in response.aiter_raw():
        for piece in reader.feed(data):
            yield piece
        if reader.is_over:
            raise TooLarge(f"What {who} sent is larger than {_size(limit)}.", fix="Ask for less.")


async def beginning(response: httpx.Response, limit: int, who: str) -> tuple[bytes, bool]:
    """Read a body up to a limit; gives it, and whether that is the whole of it.

    Raises:
        nbtool.errors.BadReply: it cannot be unpacked.
    """
    reader = BodyReader(response.headers.get("content-encoding", ""), limit, who)
    body = bytearray()
    async for data in response.aiter_raw():
        for piece in reader.feed(data):
            body += piece
        if reader.is_over:
            break
    return bytes(body), reader.is_whole


def _size(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit:,} bytes"
