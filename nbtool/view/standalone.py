"""The widget of a turn without a cell magic: in marimo, or in a cell that starts a turn itself."""

from __future__ import annotations

from functools import partial

from nbtool.threads.loop import background_loop
from nbtool.tools.approval import ApprovalQueue, Question
from nbtool.turn_view import LiveTurn
from nbtool.view.page_messages import decide_by_click
from nbtool.view.turn_widget import TurnWidget


def by_click(question: Question) -> None:
    """Leave a question to a click, without a time limit: the `approver` of a turn shown by `turn_widget`."""


def turn_widget(turn: LiveTurn, approvals: ApprovalQueue) -> TurnWidget:
    """Return the live view of a turn that runs in the background, with its questions and its Stop button.

        turn = chat.start("Which ticker is cheapest?", approver=by_click)
        turn_widget(turn, chat.approvals)

    Where clicks are delivered only between cells, as in marimo, the cell has to end before the turn does: use
    `start`, not `send`, and read the result in a later cell.
    """
    widget = TurnWidget(
        turn.turn_id,
        decide=partial(decide_by_click, approvals),
        stop=turn.abort,
        on_shown=approvals.mark_shown,
        post=background_loop().call_soon,
    )
    widget.on_msg(lambda _widget, content, _buffers: widget.receive(content))
    background_loop().call_soon(partial(turn.follow, widget.feed))
    return widget
