from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from nbtool.wire.transport.response.readahead import MAX_BUFFERED_BYTES, ReadAhead
from nbtool.wire.transport.retry import Deadline


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
        while piece := await body.read(Deadline(60)):
            found.append(piece)
        return found


def test_what_has_come_is_given_in_one_piece() -> None:
    assert asyncio.run(read_pieces(b"a", b"b", b"c")) == [b"abc"]


def test_a_body_without_anything_ends() -> None:
    assert asyncio.run(read_pieces()) == []


def test_an_error_comes_after_what_came_before_it() -> None:
    async def read() -> list[bytes]:
        async with aclosing(ReadAhead(pieces(b"a", b"b", OSError("gone")))) as body:
            first = await body.read(Deadline(60))
            with pytest.raises(OSError, match="gone"):
                await body.read(Deadline(60))
            return [first]

    assert asyncio.run(read()) == [b"ab"]


def test_no_more_is_read_ahead_than_the_bound() -> None:
    asked: list[int] = []
    half = bytes(MAX_BUFFERED_BYTES // 2 + 1)

    async def read() -> tuple[int, int]:
        async with aclosing(ReadAhead(pieces(half, half, half, half, asked=asked))) as body:
            first = await body.read(Deadline(60))
            seen = len(asked)
            rest = len(first)
            while piece := await body.read(Deadline(60)):
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
            await body.read(Deadline(60))
            await body.drain(0.01)
        return len(asyncio.all_tasks())

    assert asyncio.run(read()) == 1
    assert closed == [True]


async def silent() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


@pytest.mark.parametrize("remaining", [0.0, 0.01])
def test_a_silent_body_ends_a_wait_in_time_with_nothing_left(remaining: float) -> None:
    deadline = Deadline(10.0)
    deadline.remaining = remaining

    async def read() -> None:
        async with aclosing(ReadAhead(silent())) as body:
            with pytest.raises(TimeoutError):
                await body.read(deadline)

    asyncio.run(read())
    assert deadline.remaining <= 0


def test_a_deadline_counts_only_while_it_is_waited_for_and_restarts() -> None:
    deadline = Deadline(10.0)

    async def read() -> list[float]:
        arrived: asyncio.Queue[bytes] = asyncio.Queue()

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await arrived.get():
                yield chunk

        async with aclosing(ReadAhead(chunks())) as body:
            asyncio.get_running_loop().call_soon(arrived.put_nowait, b"a")
            await body.read(deadline)
            first = deadline.remaining
            arrived.put_nowait(b"b")
            await asyncio.sleep(0)  # it is read before it is waited for
            await body.read(deadline)
            return [first, deadline.remaining]

    first, second = asyncio.run(read())
    assert 9.0 < second == first < 10.0
    deadline.reset(5.0)
    assert (deadline.limit, deadline.remaining) == (5.0, 5.0)


def test_a_shorter_deadline_is_not_hidden_by_the_timer_of_a_longer_one() -> None:
    async def read() -> None:
        arrived: asyncio.Queue[bytes] = asyncio.Queue()

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await arrived.get():
                yield chunk

        async with aclosing(ReadAhead(chunks())) as body:
            asyncio.get_running_loop().call_soon(arrived.put_nowait, b"a")
            assert await body.read(Deadline(600)) == b"a"
            with pytest.raises(TimeoutError):
                await body.read(Deadline(0.01))

    asyncio.run(read())
