"""The order of a round's calls: their questions are asked in order, and synchronous tools run in order.

Calls that ask nothing and only wait for their turn are announced by the start of the one before them, so that the disk
is waited for once, and not once for each of them.
"""

from __future__ import annotations

import asyncio

__all__ = ["CallSlot", "make_slots"]


class _Sequence:
    """Steps that may finish in any order, and waits for all steps before one.

    Each step and each wait is processed once, so that the cost of a round is linear in its calls.
    """

    def __init__(self, count: int) -> None:
        self._is_done = [False] * count
        self._waiting: dict[int, asyncio.Event] = {}
        self._next = 0  # every step before this one is done

    def mark_done(self, index: int) -> None:
        self._is_done[index] = True
        while self._next < len(self._is_done) and self._is_done[self._next]:
            self._next += 1
            if event := self._waiting.pop(self._next, None):
                event.set()

    async def wait(self, index: int) -> bool:
        """Wait until every step before `index` is done; return whether it had to wait."""
        if self._next >= index:
            return False
        await self._waiting.setdefault(index, asyncio.Event()).wait()
        return True


class _RoundOrder:
    """What the slots of a round share; `unasked` are those that wait to run and ask nothing, by their positions."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asks, self.runs = _Sequence(count), _Sequence(count)
        self.unasked: dict[int, CallSlot] = {}


class CallSlot:
    """One call's position among the calls of its round.

    A call adds its question after the calls before it have added theirs, so that all of them are in the queue at once
    and in order. A tool that runs in order runs only after the calls before it have run or were skipped. Each slot must
    be released at the end, even if its call fails.
    """

    def __init__(self, index: int = 0, round_order: _RoundOrder | None = None) -> None:
        self._index, self._round = index, round_order  # a call that is alone waits for none
        self.call_id = ""
        self.is_announced = False

    async def wait_to_ask(self) -> None:
        """Wait until every call before this one has added its question, or has none."""
        if self._round:
            await self._round.asks.wait(self._index)
            self._round.asks.mark_done(self._index)

    async def wait_to_run(self, call_id: str = "") -> bool:
        """Wait until every call before this one has run; return whether it had to wait.

        With its id, it asks nothing, so that the start of a call before it may announce it.
        """
        if self._round is None:
            return False
        if call_id:
            self.call_id, self._round.unasked[self._index] = call_id, self
        try:
            return await self._round.runs.wait(self._index)
        finally:
            self._round.unasked.pop(self._index, None)

    async def find_followers(self) -> list[CallSlot]:
        """Return the slots right after this one whose calls only wait for their turn; none of an announced one.

        They become announced once a start that names them is written.
        """
        followers: list[CallSlot] = []
        if self._round is None or self.is_announced or self._index + 1 == self._round.count:
            return followers
        await asyncio.sleep(0)  # the first call of a round starts before the others have come to wait
        while follower := self._round.unasked.get(self._index + len(followers) + 1):
            followers.append(follower)
        return followers

    def mark_ran(self) -> None:
        """Let the next call run."""
        if self._round:
            self._round.runs.mark_done(self._index)

    def release(self) -> None:
        """Stop blocking the calls after this one."""
        if self._round:
            self._round.asks.mark_done(self._index)
            self._round.runs.mark_done(self._index)


def make_slots(count: int) -> list[CallSlot]:
    """Return the slots of a round's calls."""
    round_order = _RoundOrder(count) if count > 1 else None
    return [CallSlot(index, round_order) for index in range(count)]
