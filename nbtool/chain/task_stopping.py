"""Wait for work to end despite cancellation, or stop it within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def shield_until_done(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end even if the caller is cancelled; raise the cancellation afterwards."""
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
    """Cancel the tasks that still run, and wait for them for at most `seconds`."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        if not (isinstance(task, asyncio.Task) and task.cancelling()):  # a second cancel would interrupt its clean-up
            task.cancel()
        task.add_done_callback(retrieve_exception)
    if running:
        await asyncio.wait(running, timeout=seconds)


def retrieve_exception(task: asyncio.Future[Any]) -> None:
    """Retrieve a task's exception, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()
