"""Where a cell's turn is shown: the widget in a page, lines in a terminal, or a static twin at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtool.chat.chat import Chat
from nbtool.magics.cell_source import Cells
from nbtool.magics.kernel.messages import can_ask_for_input, has_front_end
from nbtool.magics.views.static import Lines, Quiet, Static, View
from nbtool.magics.views.widget import Page

if TYPE_CHECKING:
    from nbtool.chat.turn import Turn

__all__ = ["View", "may_park", "view_for"]


def view_for(shell: Any, *, quiet: bool, turn: Turn, chat: Chat, cells: Cells | None = None) -> View:
    """Give the view that fits where the cell runs; `cells` writes those that its buttons put below."""
    if quiet:
        return Quiet()
    if getattr(shell, "kernel", None) is None:
        return Lines()
    # Without a front end nobody watches, and a widget would only be saved.
    return Page(shell, turn, chat, cells) if has_front_end(shell) else Static()


def may_park(shell: Any) -> bool:
    """Whether somebody could answer after the cell: a page, or a person at a terminal, has `%chat approve`."""
    return has_front_end(shell) or (getattr(shell, "kernel", None) is None and can_ask_for_input(shell))
