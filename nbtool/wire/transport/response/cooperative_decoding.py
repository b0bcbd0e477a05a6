"""Decode large chunks in a thread, and yield many deltas in parts, so that the event loop is not held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nbtool.events import Delta, ReplyEnd
from nbtool.threads.thread_pool import run_in_worker

LARGE = 64 * 1024
"""Maximum number of bytes that are decoded on nbtool's own loop; more are decoded in a thread."""

AT_ONCE = 64
"""Deltas that are yielded before control returns to the loop."""


async def decode_batch(decode: Callable[[], list[Delta]], size: int) -> list[Delta]:
    """Decode small chunks on the loop, and large ones in a thread, so that a cancel is handled in time."""
    if size <= LARGE:
        return decode()
    outcome = await run_in_worker(decode)
    if outcome.error:
        raise outcome.error
    deltas: list[Delta] = outcome.value
    return deltas


async def split_batches(batches: AsyncGenerator[list[Delta], None], prefix: str) -> AsyncGenerator[list[Delta], None]:
    """Yield large batches of deltas in parts, and return control to the loop in between."""
    async with aclosing(batches):
        async for batch in batches:
            if batch and isinstance(batch[-1], ReplyEnd):
                batch[-1].prefix = prefix
            for start in range(0, len(batch), AT_ONCE):
                yield batch[start : start + AT_ONCE]
                if start + AT_ONCE < len(batch):
                    await asyncio.sleep(0)
