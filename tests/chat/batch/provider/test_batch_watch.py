"""How a batch is waited for: ever longer delays, a provider that cannot be reached, and what is said meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from nbtool.chat.batch.provider.batch_watch import BatchWatch, WatchDelays, describe_batches
from nbtool.errors import AuthenticationFailed, ConnectionFailed, ProviderError, WireError
from nbtool.wire.batches import ProviderBatch


class Looks:
    """The states of a batch, one after another; an error is raised."""

    def __init__(self, *states: Any) -> None:
        self._states: Iterator[Any] = iter(states)
        self.cancelled: list[str] = []

    async def find(self, _: str) -> ProviderBatch:
        state = next(self._states)
        if isinstance(state, Exception):
            raise state
        return ProviderBatch("b", state, total=10, done=3)

    async def cancel(self, batch_id: str) -> None:
        self.cancelled.append(batch_id)


def watch(looks: Looks, notes: list[str]) -> BatchWatch:
    return BatchWatch(looks, notes.append, WatchDelays(0.0, 1.0, 0.0, 0.0))  # type: ignore[arg-type]  # two methods


def test_a_provider_that_cannot_be_reached_is_asked_again() -> None:
    notes: list[str] = []
    looks = Looks("running", ConnectionFailed("down"), ProviderError("busy", status=503), "completed")

    batch = asyncio.run(watch(looks, notes).wait(ProviderBatch("b", "queued")))

    assert batch.status == "completed"
    assert [bool(note) for note in notes] == [True, True, True, True, False]


@pytest.mark.parametrize("error", [AuthenticationFailed("no", status=401), ProviderError("gone", status=404)])
def test_a_batch_that_is_not_known_is_not_waited_for(error: WireError) -> None:
    with pytest.raises(WireError):
        asyncio.run(watch(Looks("running", error), []).wait(ProviderBatch("b", "queued")))


def test_a_stop_cancels_a_batch_once_and_waits_for_its_end() -> None:
    looks = Looks("cancelling", "cancelling", "cancelled")

    async def stop() -> ProviderBatch:
        watching = watch(looks, [])
        watching.stop.set()
        return await watching.wait(ProviderBatch("b", "running"))

    assert asyncio.run(stop()).status == "cancelled"
    assert looks.cancelled == ["b"]


def test_a_batch_that_is_not_cancelled_in_time_is_left() -> None:
    async def stop() -> ProviderBatch:
        watching = watch(Looks(*["cancelling"] * 10_000), [])
        watching.cancel_seconds = 0.0
        watching.stop.set()
        return await watching.wait(ProviderBatch("b", "running"))

    assert asyncio.run(stop()).status in ("running", "cancelling")


def test_several_batches_are_counted_by_their_states() -> None:
    states = [
        ProviderBatch("a", "queued"),
        ProviderBatch("b", "running", total=5, done=2),
        ProviderBatch("c", "completed"),
    ]

    assert describe_batches(states).count("1 ") == 2
    assert not describe_batches(states[2:])
