from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from nbtool.wire.transport.response.readahead import MAX_BUFFERED_BYTES, ReadAhead


async def pieces(*given: bytes | Exception, asked: list[int] | None = None) -> AsyncIterator[bytes]:
    for number, piece in enumerate(given):
        if asked is not None:
            asked.append(number)
        if isinstance(piece, Exception):
            raise piece
        yield piece


async def read_pieces(*given: bytes | Exception) -> list[bytes]:
    async with aclosing(ReadAhead(pieces(*given))) as body:
        found = []
        while piece := await body.read():
            found.append(piece)
        return found


def test_what_has_come_is_given_in_one_piece() -> None:
    assert asyncio.run(read_pieces(b"a", b"b", b"c")) == [b"abc"]


def test_a_body_without_anything_ends() -> None:
    assert asyncio.run(read_pieces()) == []


def test_an_error_comes_after_what_came_before_it() -> None:
    async def read() -> list[bytes]:
        async with aclosing(ReadAhead(pieces(b"a", b"b", OSError("gone")))) as body:
            first = await body.read()
            with pytest.raises(OSError, match="gone"):
                await body.read()
            return [first]

    assert asyncio.run(read()) == [b"ab"]


def test_no_more_is_read_ahead_than_the_bound() -> None:
    asked: list[int] = []
    half = bytes(MAX_BUFFERED_BYTES // 2 + 1)

    async def read() -> tuple[int, int]:
        async with aclosing(ReadAhead(pieces(half, half, half, half, asked=asked))) as body:
            first = await body.read()
            seen = len(asked)
            rest = len(first)
            while piece := await body.read():
                rest += len(piece)
            return seen, rest

    assert asyncio.run(read()) == (2, 4 * len(half))


def test_closing_stops_the_reading() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def read() -> int:
        async with aclosing(ReadAhead(endless())) as body:
            await body.read()
            await body.drain(0.01)
        return len(asyncio.all_tasks())

    assert asyncio.run(read()) == 1
    assert closed == [True]
