"""A parked turn, without a kernel: a script for the model, and the roads of a cell."""

from __future__ import annotations

import threading
from typing import Any

from nbtool.chat.chat import Chat, wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.events import CallAsked, Event
from nbtool.magics.cell.approver import CellApprover
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import tool

SECONDS = 20
"""How long a test waits for what must come."""


class ParkingChat:
    """A chat whose tools note on which thread they ran."""

    def __init__(self, *replies: Any, plugins: tuple[object, ...] = ()) -> None:
        self.threads: list[threading.Thread] = []

        @tool
        def pay(amount: int) -> int:
            "Pay an amount."
            self.threads.append(threading.current_thread())
            return amount

        self.pay = pay
        self.chat = Chat(wire=ScriptedWire(list(replies) or payment_replies()), tools=[pay], plugins=plugins)

    def park(self, **ways: Any) -> Turn:
        """Say something and wait as a cell does; gives the turn when the cell may end."""
        return self.wait(self.chat.compose("Pay."), **ways)

    def wait(self, turn: Turn, **ways: Any) -> Turn:
        """Wait for a turn as a cell does, with these roads to a person."""
        turn.approver = CellApprover(turn, self.chat.approvals, **{"mode": "park", "can_park": True, **ways})
        return wait_for_turn(turn)

    @property
    def waiting(self) -> str:
        """The digest of the one question that waits."""
        (question,) = self.chat.approvals.pending()
        return question.digest


def payment_replies(*amounts: int) -> list[Any]:
    """Let the model ask for payments in one round, and then say that it is done."""
    return [[call("pay", amount=amount) for amount in amounts or (3,)], "Done."]


def when_asked(turn: Turn, count: int) -> threading.Event:
    """Give what is set once so many questions of a turn that has not started are recorded."""
    is_asked, digests = threading.Event(), set[str]()

    def listen(event: Event) -> None:
        if isinstance(event, CallAsked):
            digests.add(event.digest)
        if len(digests) == count:
            is_asked.set()

    turn.add_listener(listen)
    return is_asked


def wait_end(turn: Turn) -> Turn:
    """Wait for the end of a turn."""
    return turn.done.result(SECONDS)
