"""Where the turns of clients are shown: below the cell that serves, in order of time.

A turn that asks something is shown in the cell that runs at that time too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtool.blocks.question import summarize_request
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.events import CallAsked, CallDecided, Event, Notice
from nbtool.magics.kernel.cell_messages import can_ask_for_input, has_front_end
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views.call_log import CallLog
from nbtool.magics.views.page_view import WidgetView
from nbtool.magics.views.pageless_views import SHOWN_DIGEST
from nbtool.magics.views.running_cell import RunningCell
from nbtool.sign_in import sign_in_page

MAX_RUNNING = 4
"""Number of turns of clients that run at a time; a further call waits for one of them to end."""

CLIENT_CHAT = "mcp:"
"""The beginning of the name of a client's chat; the client's name follows."""

ASKED_BY = "Asked by {client}, a client of `%chat serve`, which receives the result."
ASKED_IN_TERMINAL = "{client}: {question} `%chat approve {digest}` or `%chat deny {digest} REASON`"
DECIDED_HERE = "{client} called {tool}: {verdicts}. `%chat serve` shows the call."
WITHDRAWN = "ended without a decision"


class ServedView:
    """Shows the turns of clients in the output of the cell that serves, while other cells run or none.

    The newest is the last, and finished ones stay as the log says. Once a turn asks something, the cell that runs
    shows it too, and at its end one line instead. Without a page, a terminal gets a line for each question. `prepare`
    is called with each turn before it starts.
    """

    def __init__(self, shell: Any, magic: str, prepare: Callable[[Turn, Chat], object]) -> None:
        self._shell, self._magic, self._prepare = shell, magic, prepare
        self._has_page = has_front_end(shell)
        self._has_terminal = getattr(shell, "kernel", None) is None and can_ask_for_input(shell)
        self._log = CallLog()
        self._running_cell = RunningCell(shell)

    def open(self) -> None:
        """Display the outputs of the calls, below what the cell has printed."""
        if self._has_page:
            self._log.open()
            self._running_cell.watch()

    def reopen(self) -> None:
        """Show the calls below the running cell from now on: a page that was loaded again lost the former place."""
        if self._has_page:
            self._running_cell.close()  # from now on this cell shows each turn in its place
            self._log.reopen()

    def close(self) -> None:
        """Stop to show turns in the cells that run."""
        self._running_cell.stop_watching()

    def can_ask(self) -> bool:
        """Return whether somebody could answer: in a page, or at a terminal."""
        return self._has_page or self._has_terminal

    def show(self, turn: Turn, chat: Chat, client: str) -> None:
        """Prepare a turn, and show it below those before it."""
        self._prepare(turn, chat)
        if self._has_terminal:
            turn.add_listener(partial(_print_question, client, chat))
        if not self._has_page:
            return
        cells = CellSource(chat_name(client), self._magic)
        place = self._log.add(cells)
        view = WidgetView(self._shell, turn, chat, cells, place=place)

        notices = [Notice(ASKED_BY.format(client=client), topic="aside")]

        def feed(event: Event) -> None:
            if notices and event.kind != "turn_started":  # the turn is in the tree only after that event
                view.feed(notices.pop())
            view.feed(event)
            if isinstance(event, CallAsked) and not view.has_copy:
                view.show_copy(self._running_cell.display)

        def end(_: object) -> None:
            view.on_finished(turn, in_copy=_describe_decisions(turn, client))
            place.has_ended = True

        turn.add_listener(feed)
        turn.done.add_done_callback(end)


def chat_name(client: str) -> str:
    """Return the name of a client's chat; no chat of the notebook has such a name."""
    return f"{CLIENT_CHAT}{client}"


def client_of(chat: str) -> str:
    """Return the client whose chat has this name; empty for a chat of the notebook."""
    return chat.removeprefix(CLIENT_CHAT) if chat.startswith(CLIENT_CHAT) else ""


def _describe_decisions(turn: Turn, client: str) -> str:
    """Return the line that remains of a turn in the cell that ran when it asked."""
    names = [event.display_name for event in turn.log if isinstance(event, CallAsked)]
    verdicts = [event.verdict for event in turn.log if isinstance(event, CallDecided)]
    tool = one_line(names[0], 100) if names else ""
    return DECIDED_HERE.format(client=client, tool=tool, verdicts=", ".join(verdicts) or WITHDRAWN)


def _print_question(client: str, chat: Chat, event: Event) -> None:
    if isinstance(event, CallAsked):
        page = sign_in_page(event.schema, is_form=event.is_form)
        question = one_line(summarize_request(event), 8 * len(page) + 300)
        print(ASKED_IN_TERMINAL.format(client=client, question=question, digest=event.digest[:SHOWN_DIGEST]))  # noqa: T201 - a notice for the person
        chat.approvals.mark_shown(event.digest)
