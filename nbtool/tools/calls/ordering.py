"""The order of a round's calls: their questions are asked in order, and synchronous tools run in order."""

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


class CallSlot:
    """One call's position among the calls of its round.

    A call adds its question after the calls before it have added theirs, so that all of them are in the queue at once
    and in order. A tool that runs in order runs only after the calls before it have run or were skipped. Each slot must
    be released at the end, even if its call fails.
    """

    def __init__(self, index: int = 0, ask_order: _Sequence | None = None, run_order: _Sequence | None = None) -> None:
        self._index = index
        self._ask_order = ask_order or _Sequence(1)
        self._run_order = run_order or _Sequence(1)

    async def wait_to_ask(self) -> None:
        """Wait until every call before this one has added its question, or has none."""
        await self._ask_order.wait(self._index)
        self._ask_order.mark_done(self._index)

    async def wait_to_run(self) -> bool:
        """Wait until every call before this one has run; return whether it had to wait."""
        return await self._run_order.wait(self._index)

    def mark_ran(self) -> None:
        """Let the next call run."""
        self._run_order.mark_done(self._index)

    def release(self) -> None:
        """Stop blocking the calls after this one."""
        self._ask_order.mark_done(self._index)
        self._run_order.mark_done(self._index)


def make_slots(count: int) -> list[CallSlot]:
    """Return the slots of a round's calls."""
    ask_order, run_order = _Sequence(count), _Sequence(count)
    return [CallSlot(index, ask_order, run_order) for index in range(count)]
