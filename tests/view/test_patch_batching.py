from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nbtool.view.patch_batching import FLUSH_INTERVAL, FLUSHES_PER_SECOND, PatchQueue, Throttle, encode_patch


class HandClock:
    """A clock that is moved by hand, and calls back when its time has come."""

    def __init__(self) -> None:
        self.now = 100.0
        self._due: list[tuple[asyncio.TimerHandle, Callable[[], object]]] = []
        self._loop = asyncio.new_event_loop()

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(self.now + delay, callback, (), self._loop)
        self._due.append((timer, callback))
        return timer

    def move(self, seconds: float) -> None:
        self.now += seconds
        due = [(timer, callback) for timer, callback in self._due if timer.when() <= self.now + 1e-9]
        self._due = [entry for entry in self._due if entry not in due]
        for timer, callback in due:
            if not timer.cancelled():
                callback()

    def close(self) -> None:
        self._loop.close()


def extend(text: str, block_id: str = "b0", field: Any = "text") -> Any:
    return {"op": "extend", "id": block_id, "field": field, "text": text}


def update(block_id: str = "b0", **values: Any) -> Any:
    return {"op": "update", "id": block_id, "set": values}


def merged_patches(*patches: Any) -> list[Any]:
    queue = PatchQueue()
    queue.add(patches)
    return list(queue.pop_all())


def test_what_comes_many_times_a_second_travels_as_a_short_list() -> None:
    patches = [extend("a"), extend("z", "b1", "progress"), update(state="whole")]

    assert [encode_patch(patch) for patch in patches] == [["b0", "a"], ["b1", "z", "progress"], update(state="whole")]


def test_consecutive_extends_become_one() -> None:
    assert merged_patches(*(extend("ab") for _ in range(1000))) == [extend("ab" * 1000)]


def test_extends_of_different_blocks_and_fields_stay_apart() -> None:
    patches = [extend("a"), extend("x", "b1"), extend("b"), extend("y", "b1"), extend("z", "b1", "progress")]

    assert merged_patches(*patches) == [extend("ab"), extend("xy", "b1"), extend("z", "b1", "progress")]


def test_an_update_between_two_extends_of_a_block_keeps_their_order() -> None:
    patches = [extend("a"), update(text="new"), extend("b")]

    assert merged_patches(*patches) == patches


def test_updates_and_heads_are_laid_over_each_other() -> None:
    head = {"op": "head", "set": {"status": "waiting"}}

    patches = update(state="open", more={}), head, update(state="whole"), {"op": "head", "set": {"round": 2}}
    assert merged_patches(*patches) == [
        update(state="whole", more={}), {"op": "head", "set": {"status": "waiting", "round": 2}},
    ]  # fmt: skip


def test_the_patches_that_came_in_are_not_changed() -> None:
    first, second = update(state="open"), extend("a", "b1")

    merged_patches(first, second, update(state="whole"), extend("b", "b1"))

    assert (first, second) == (update(state="open"), extend("a", "b1"))


def test_a_taken_queue_is_empty() -> None:
    queue = PatchQueue()
    queue.add([extend("a")])
    queue.pop_all()

    assert not queue
    assert queue.pop_all() == []


def test_the_first_flush_is_immediate_and_the_next_ones_keep_the_pace() -> None:
    clock, flushed = HandClock(), []
    speed = Throttle(lambda: flushed.append(clock.now), clock)

    for _ in range(3000):
        speed.request()
        clock.move(0.001)
    clock.close()

    assert flushed[0] == 100.0
    assert len(flushed) <= 3 * FLUSHES_PER_SECOND + 1
    assert len(flushed) >= 3 * FLUSHES_PER_SECOND - 2


def test_what_was_wanted_is_flushed_even_when_nothing_more_comes() -> None:
    clock, flushed = HandClock(), []
    speed = Throttle(lambda: flushed.append(clock.now), clock)
    speed.request()
    clock.move(FLUSH_INTERVAL / 2)

    speed.request()
    clock.move(FLUSH_INTERVAL)
    clock.close()

    assert len(flushed) == 2


def test_what_cannot_wait_is_flushed_at_once_and_not_again() -> None:
    clock, flushed = HandClock(), []
    speed = Throttle(lambda: flushed.append(clock.now), clock)
    speed.request()
    speed.request()

    speed.flush()
    clock.move(1.0)
    clock.close()

    assert flushed == [100.0, 100.0]
