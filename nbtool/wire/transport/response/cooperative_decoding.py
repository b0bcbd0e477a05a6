"""Decode large chunks in a thread, and pass many deltas on in parts, so that the event loop is not held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.threads.thread_pool import run_in_worker

LARGE = 64 * 1024
"""Maximum number of bytes that are decoded on nbtool's own loop; more are decoded in a thread."""

AT_ONCE = 64
"""Deltas of one batch that are yielded before control returns to the loop."""


async def run_decoder(decode: Callable[[], None], size: int) -> Exception | None:
    """Decode small chunks on the loop, and large ones in a thread, so that a cancel is handled in time.

    Returns:
        The error of the decoder, which is raised once the deltas before it were passed on.
    """
    if size > LARGE:
        outcome = await run_in_worker(decode)
        if not isinstance(outcome.error, Exception | None):
            raise outcome.error
        return outcome.error
    try:
        decode()
    except WireError as error:
        return error
    return None


async def pass_on(batches: AsyncGenerator[list[Delta], None]) -> AsyncGenerator[Delta, None]:
    """Yield the deltas of batches one by one; within a large batch control returns to the loop in between."""
    async with aclosing(batches):
        async for batch in batches:
            for number, delta in enumerate(batch):
                if number and number % AT_ONCE == 0:
                    await asyncio.sleep(0)
                yield delta
