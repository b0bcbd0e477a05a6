"""The calls of one round in their order: their questions are laid in it, and synchronous tools run in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

__all__ = ["Ticket", "tickets"]


class Ticket:
    """One call's place among the calls of its round.

    A call lays its question only after those before it have laid theirs, so that all of them lie on the desk at
    once and in order; and one that takes turns runs only after those before it have run, or never will. Whoever
    draws a ticket has to `leave` in the end, whatever becomes of the call.
    """

    def __init__(self, before: Sequence[Ticket] = ()) -> None:
        self._before = before
        self._asked = asyncio.Event()
        self._ran = asyncio.Event()

    async def may_ask(self) -> None:
        """Wait until every call before this one has asked, or has nothing to ask."""
        for ticket in reversed(self._before):  # the last one mostly asks last: then there is one wait, not many
            await ticket._asked.wait()
        self._asked.set()

    async def may_run(self) -> bool:
        """Wait until every call before this one has run; says whether there was anything to wait for."""
        waiting = [ticket for ticket in self._before if not ticket._ran.is_set()]
        for ticket in reversed(waiting):
            await ticket._ran.wait()
        return bool(waiting)

    def has_run(self) -> None:
        """Let the next call run."""
        self._ran.set()

    def leave(self) -> None:
        """Hold up nobody any longer."""
        self._asked.set()
        self._ran.set()


def tickets(count: int) -> list[Ticket]:
    """Draw the tickets of a round's calls."""
    drawn: list[Ticket] = []
    for _ in range(count):
        drawn.append(Ticket(tuple(drawn)))
    return drawn
