"""Wait for the end of the batches of a map, and say meanwhile how far they are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from nbtool.errors import AuthenticationFailed, ProviderError, WireError
from nbtool.text import format_number
from nbtool.wire.batches import BatchApi, ProviderBatch

CANCEL_SECONDS = 30.0
"""Seconds that a stopped map waits for the provider to end its batches, and for the answers that they had."""


@dataclass(frozen=True, slots=True)
class WatchDelays:
    """Seconds between two looks at a batch: each delay is longer than the one before."""

    first: float = 0.2
    factor: float = 1.5
    longest: float = 60.0
    cancelling: float = 1.0


@dataclass(slots=True)
class BatchWatch:
    """Looks at batches until they have ended; `note` is told how far they all are."""

    api: BatchApi
    note: Callable[[str], None]
    delays: WatchDelays = field(default_factory=WatchDelays)
    cancel_seconds: float = CANCEL_SECONDS
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _states: dict[str, ProviderBatch] = field(default_factory=dict)

    async def wait(self, batch: ProviderBatch, *, may_cancel: bool = True) -> ProviderBatch:
        """Return the state of a batch once it has ended, or some time after a stop, which cancels it if that may be.

        Raises:
            nbtool.errors.WireError: the provider does not know it, or refuses the key.
        """
        delay = self.delays.first
        self._show(batch)
        while not (batch.has_ended or self.stop.is_set()):
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self.stop.wait()
            batch = await self._look(batch)
            delay = min(delay * self.delays.factor, self.delays.longest)
        if may_cancel and not batch.has_ended:
            batch = await self._cancel(batch)
        return batch

    async def _cancel(self, batch: ProviderBatch) -> ProviderBatch:
        """Cancel a batch, and wait some time for its end."""
        with suppress(WireError):
            await self.api.cancel(batch.batch_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.cancel_seconds):
                while not (batch := await self._look(batch)).has_ended:
                    await asyncio.sleep(self.delays.cancelling)
        return batch

    async def _look(self, batch: ProviderBatch) -> ProviderBatch:
        """Return the state of a batch; the former one while the provider cannot be reached."""
        try:
            batch = await self.api.find(batch.batch_id)
        except WireError as error:
            if is_final(error):
                raise
        self._show(batch)
        return batch

    def _show(self, batch: ProviderBatch) -> None:
        self._states[batch.batch_id] = batch
        self.note(describe_batches(self._states.values()))


def is_final(error: WireError) -> bool:
    """Whether it does not help to ask again: the key is refused, or the batch is not known."""
    return isinstance(error, AuthenticationFailed) or (isinstance(error, ProviderError) and error.status == 404)


def describe_batches(batches: Iterable[ProviderBatch]) -> str:
    """Return how far batches are at their provider; empty once all have ended."""
    listed = list(batches)
    going = Counter(listed_batch.status for listed_batch in listed if not listed_batch.has_ended)
    if not going:
        return ""
    states = ", ".join(
        f"{format_number(count)} {status}" if len(listed) > 1 else status for status, count in going.items()
    )
    what = "the batches" if len(listed) > 1 else "the batch"
    total, done = sum(listed_batch.total for listed_batch in listed), sum(listed_batch.done for listed_batch in listed)
    counts = f", {format_number(done)} of {format_number(total)} done there" if total and done else ""
    return f"{what} at the provider: {states}{counts}"
