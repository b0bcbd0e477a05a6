"""The widget of a turn where no cell magic shows it: marimo, a cell that starts a turn itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from nbtool.events import Event
from nbtool.loop import background_loop
from nbtool.tools.approval import ApprovalQueue, Question
from nbtool.view.turn import TurnWidget
from nbtool.view.turn_messages import to_decision


class FollowableTurn(Protocol):
    """As much of a turn (`nbtool.chat.turn.Turn`) as its widget needs."""

    @property
    def turn_id(self) -> str:
        """Its id."""

    def follow(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event, those that already happened first; on nbtool's own thread."""

    def abort(self) -> None:
        """Stop it."""


def by_click(question: Question) -> None:
    """Leave a question to a click, however long it takes: the `approver` of a turn that `turn_widget` shows."""


def turn_widget(turn: FollowableTurn, approvals: ApprovalQueue) -> TurnWidget:
    """Give the live view of a turn that goes on in the background, with its questions and its Stop.

        turn = chat.start("Which ticker is cheapest?", approver=by_click)
        turn_widget(turn, chat.approvals)

    Where a page's clicks are heard only between cells, as in marimo, the cell has to end before the turn does: so
    `start`, not `send`, and another cell, run later, that reads what came of it.
    """
    widget = TurnWidget(
        turn.turn_id,
        decide=lambda digest, verdict: approvals.decide(digest, to_decision(verdict), by="button"),
        stop=turn.abort,
        post=background_loop().call_soon,
    )
    widget.on_msg(lambda _widget, content, _buffers: widget.receive(content))
    background_loop().call_soon(partial(turn.follow, widget.feed))
    return widget
