"""The notebook of the cell that runs now, for the length of that cell; and of the cell that serves it, for clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.magics.kernel.cell_messages import routes_output_by_context
from nbtool.magics.kernel.main_thread import MainThreadExecutor
from nbtool.magics.kernel.page_channel import PageChannel
from nbtool.magics.names.name_undo import NameChanges
from nbtool.magics.notebook.page_notebook import PageNotebook
from nbtool.toolsets.notebook_access import open_notebook

CELL_TOOLS = "nbtool.notebook."
"""How the origins of the tools for cells begin."""

SERVE_AGAIN = (
    "Ask the user to run `%chat serve` again in an open page of the notebook; with ipykernel 6 the page answers only "
    "between cells."
)


@contextmanager
def notebook_of_cell(shell: Any, magic: str = "chat") -> Iterator[PageNotebook]:
    """Return the notebook of the running cell; its page is asked when something first needs it."""
    channel = PageChannel(shell)
    try:
        yield PageNotebook(channel, shell, magic)
    finally:
        channel.close()


class ServedNotebook:
    """The notebook of the cell that serves it, for the turns of clients: its main thread, and the cells of its page.

    The cells can be used as long as that page is open; `changes` gets those that a turn changed, for `%chat undo`.
    """

    def __init__(self, shell: Any, magic: str, changes: NameChanges) -> None:
        self._shell, self._magic, self._changes = shell, magic, changes
        self._channel = PageChannel(shell, outlives_cell=True)
        has_loop = getattr(getattr(shell, "kernel", None), "io_loop", None) is not None
        self._main_thread = MainThreadExecutor(shell) if has_loop else None
        self._offers_cells = False

    def open(self) -> None:
        """Connect to the page of the running cell, in place of another one."""
        self._offers_cells = True
        former, self._channel = self._channel, PageChannel(self._shell, outlives_cell=True)
        former.close()
        self._channel.open()

    def reopen(self) -> None:
        """Connect to the page of the running cell if cells are offered: the former page may have been reloaded."""
        if self._offers_cells:
            self.open()

    def close(self) -> None:
        """Answer no client any more."""
        self._channel.close()
        if self._main_thread:
            self._main_thread.close()

    def prepare(self, turn: Turn, chat: Chat) -> None:
        """Let the tools of a turn that is about to start use the notebook until it ends."""
        turn.caller_thread.main_thread = self._main_thread
        can_run = self._main_thread is not None and routes_output_by_context(self._shell.kernel)  # not in ipykernel 6
        notebook = PageNotebook(self._channel, self._shell, self._magic, can_run=can_run, remedy=SERVE_AGAIN)
        access = ExitStack()
        access.enter_context(open_notebook(turn.caller_thread, notebook))

        def end(_: object) -> None:
            access.close()
            self._changes.record_cells(turn.turn_id, notebook.changes, chat.tree.last_deletion)

        turn.done.add_done_callback(end)


def uses_cells(chat: Chat) -> bool:
    """Return whether a chat has a tool for the cells of the notebook."""
    return any(tool.origin.startswith(CELL_TOOLS) for tool in chat.tools.tools().values())
