"""Where a cell's turn is shown: the widget in a page, lines in a terminal, or static output at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtool.chat.chat import Chat
from nbtool.magics.kernel.cell_messages import can_ask_for_input, has_front_end
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views.page_view import WidgetView
from nbtool.magics.views.pageless_views import NullView, StaticView, TerminalView, View

if TYPE_CHECKING:
    from nbtool.chat.turn import Turn

__all__ = ["View", "can_park", "make_view"]


def make_view(
    shell: Any,
    *,
    quiet: bool,
    turn: Turn,
    chat: Chat,
    cells: CellSource | None = None,
    on_rerun: Callable[[], object] | None = None,
) -> View:
    """Return the view that fits the front end.

    `cells` writes the source of cells that its buttons insert; `on_rerun` is called if the running cell is run again.
    """
    if quiet:
        return NullView(chat.approvals.mark_shown)
    if getattr(shell, "kernel", None) is None:
        return TerminalView(turn, chat)
    # Unattended runs have no front end, and a widget would only be saved.
    return WidgetView(shell, turn, chat, cells, on_rerun=on_rerun) if has_front_end(shell) else StaticView(chat)


def can_park(shell: Any) -> bool:
    """Return whether somebody could answer after the cell: in a page, or at a terminal with `%chat approve`."""
    return has_front_end(shell) or (getattr(shell, "kernel", None) is None and can_ask_for_input(shell))
