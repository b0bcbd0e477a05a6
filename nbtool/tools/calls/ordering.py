"""The calls of one round in their order: their questions are laid in it, and synchronous tools run in it."""

from __future__ import annotations

import asyncio

__all__ = ["Ticket", "tickets"]


class _Sequence:
    """Steps that may be done in any order, and waits until all steps before one are done.

    Each step and each wait is looked at once, so that a round costs no more than its number of calls.
    """

    def __init__(self, count: int) -> None:
        self._is_done = [False] * count
        self._waiting: dict[int, asyncio.Event] = {}
        self._reached = 0  # every step before this one is done

    def do(self, place: int) -> None:
        self._is_done[place] = True
        while self._reached < len(self._is_done) and self._is_done[self._reached]:
            self._reached += 1
            if event := self._waiting.pop(self._reached, None):
                event.set()

    async def wait(self, place: int) -> bool:
        """Wait until every step before `place` is done; says whether there was anything to wait for."""
        if self._reached >= place:
            return False
        await self._waiting.setdefault(place, asyncio.Event()).wait()
        return True


class Ticket:
    """One call's place among the calls of its round.

    A call lays its question only after those before it have laid theirs, so that all of them lie on the desk at
    once and in order; and one that takes turns runs only after those before it have run, or never will. Whoever
    draws a ticket has to `leave` in the end, whatever becomes of the call.
    """

    def __init__(self, place: int = 0, asked: _Sequence | None = None, ran: _Sequence | None = None) -> None:
        self._place = place
        self._asked = asked or _Sequence(1)
        self._ran = ran or _Sequence(1)

    async def may_ask(self) -> None:
        """Wait until every call before this one has asked, or has nothing to ask."""
        await self._asked.wait(self._place)
        self._asked.do(self._place)

    async def may_run(self) -> bool:
        """Wait until every call before this one has run; says whether there was anything to wait for."""
        return await self._ran.wait(self._place)

    def has_run(self) -> None:
        """Let the next call run."""
        self._ran.do(self._place)

    def leave(self) -> None:
        """Hold up nobody any longer."""
        self._asked.do(self._place)
        self._ran.do(self._place)


def tickets(count: int) -> list[Ticket]:
    """Draw the tickets of a round's calls."""
    asked, ran = _Sequence(count), _Sequence(count)
    return [Ticket(place, asked, ran) for place in range(count)]
