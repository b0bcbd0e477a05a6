"""The calls of one round in their order: their questions are laid in it, and synchronous tools run in it."""

from __future__ import annotations

import asyncio

__all__ = ["CallSlot", "make_slots"]


class _Sequence:
    """Steps that may be done in any order, and waits until all steps before one are done.

    Each step and each wait is looked at once, so that a round costs no more than its number of calls.
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
        """Wait until every step before `index` is done; says whether there was anything to wait for."""
        if self._next >= index:
            return False
        await self._waiting.setdefault(index, asyncio.Event()).wait()
        return True


class CallSlot:
    """One call's place among the calls of its round.

    A call lays its question only after those before it have laid theirs, so that all of them lie on the desk at
    once and in order; and one that takes turns runs only after those before it have run, or never will. Whoever
    draws a ticket has to `release` in the end, whatever becomes of the call.
    """

    def __init__(self, index: int = 0, ask_order: _Sequence | None = None, run_order: _Sequence | None = None) -> None:
        self._index = index
        self._ask_order = ask_order or _Sequence(1)
        self._run_order = run_order or _Sequence(1)

    async def wait_to_ask(self) -> None:
        """Wait until every call before this one has asked, or has nothing to ask."""
        await self._ask_order.wait(self._index)
        self._ask_order.mark_done(self._index)

    async def wait_to_run(self) -> bool:
        """Wait until every call before this one has run; says whether there was anything to wait for."""
        return await self._run_order.wait(self._index)

    def mark_ran(self) -> None:
        """Let the next call run."""
        self._run_order.mark_done(self._index)

    def release(self) -> None:
        """Hold up nobody any longer."""
        self._ask_order.mark_done(self._index)
        self._run_order.mark_done(self._index)


def make_slots(count: int) -> list[CallSlot]:
    """Draw the tickets of a round's calls."""
    ask_order, run_order = _Sequence(count), _Sequence(count)
    return [CallSlot(index, ask_order, run_order) for index in range(count)]
