"""Work that is awaited to its end, or stopped within a bound, whoever cancels meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def shield_until_done(work: Coroutine[Any, Any, T]) -> T:
    """Await something to its end however often the caller is cancelled meanwhile; only then is it cancelled."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        retrieve_exception(task)
        raise cancelled
    return task.result()


async def stop_all(tasks: Sequence[asyncio.Future[Any]], seconds: float) -> None:
    """Cancel what still runs of some tasks, and wait for them all, but no longer than that."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        if not (isinstance(task, asyncio.Task) and task.cancelling()):  # a second one would cut short how it ends
            task.cancel()
        task.add_done_callback(retrieve_exception)
    if running:
        await asyncio.wait(running, timeout=seconds)


def retrieve_exception(task: asyncio.Future[Any]) -> None:
    """Take note of how a task ended that nobody may be waiting for any more."""
    if not task.cancelled():
        task.exception()
