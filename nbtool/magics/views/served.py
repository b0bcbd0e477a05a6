"""Where the calls of clients are shown: on one card below the cell that serves, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtool.blocks.fold.served_calls import ServedCalls
from nbtool.blocks.protocol import Document
from nbtool.blocks.question import summarize_request
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import ApprovalError, BadUsage
from nbtool.events import CallAsked, Event, TurnEnded
from nbtool.ids import new_id
from nbtool.magics.kernel.cell_messages import can_ask_for_input, has_front_end
from nbtool.magics.names.result_binding import bind_result
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views.page_link import PageLink, display_widget
from nbtool.magics.views.pageless_views import SHOWN_DIGEST
from nbtool.sign_in import sign_in_page
from nbtool.threads.loop import background_loop, run_sync
from nbtool.view.page_messages import BindRequest, decide_by_click

if TYPE_CHECKING:
    from nbtool.view.served_widget import ServedWidget

MAX_RUNNING = 4
"""Number of turns of clients that run at a time; a further call waits for one of them to end."""

CLIENT_CHAT = "mcp:"
"""The beginning of the name of a client's chat; the client's name follows."""

ASKED_IN_TERMINAL = "{client}: {question} `%chat approve {digest}` or `%chat deny {digest} REASON`"
MOVED = {"text/plain": "The calls are shown below a later `%chat serve`."}
NOT_OPEN = "This question is not open any more."


@dataclass(slots=True)
class _ShownCall:
    """The turn of a call that is shown, its chat, and the digests of what it asked."""

    turn: Turn
    chat: Chat
    asked: set[str] = field(default_factory=set)


class ServedView:
    """Shows the calls of clients on a card in the output of the cell that serves, while other cells run or none.

    Without a page, a terminal gets a line for each question. `prepare` is called with each turn before it starts.
    """

    def __init__(self, shell: Any, magic: str, prepare: Callable[[Turn, Chat], object]) -> None:
        self._shell, self._magic, self._prepare = shell, magic, prepare
        self._has_page = has_front_end(shell)
        self._has_terminal = getattr(shell, "kernel", None) is None and can_ask_for_input(shell)
        self._calls = ServedCalls(f"served:{new_id('calls')}")  # no id of a turn: a saved card offers no actions on one
        self._shown: dict[str, _ShownCall] = {}
        self._link: PageLink | None = None
        self._widget: ServedWidget | None = None
        self._handle: Any = None
        self._is_closed = False

    def open(self) -> None:
        """Display the card, below what the cell has printed."""
        if self._has_page:
            self._link = PageLink(self._shell.kernel)
            self._display(self._link)

    def reopen(self) -> None:
        """Show the calls below the running cell from now on: a page that was loaded again lost the former place."""
        former, handle = self._widget, self._handle
        if former and self._link:
            self._display(self._link)
            handle.update(MOVED, raw=True)
            self._link.replace_when_loaded(former, (former.place, MOVED))

    def close(self) -> None:
        """Show how the calls ended once all of them have, and no further ones."""
        self._is_closed = True
        run_sync(self._finish())

    def can_ask(self) -> bool:
        """Return whether somebody could answer: in a page, or at a terminal."""
        return self._has_page or self._has_terminal

    def show(self, turn: Turn, chat: Chat, client: str) -> None:
        """Prepare a turn, and show its call below those before it; on the loop."""
        self._prepare(turn, chat)
        if self._has_terminal:
            turn.add_listener(partial(_print_question, client, chat))
        if not self._widget or self._is_closed:
            return
        history = CellSource(chat_name(client), self._magic).line("history")
        dropped = self._calls.add(turn.turn_id, client, history)
        for key in dropped:
            del self._shown[key]
        if dropped:
            self._widget.show_again()
        shown = self._shown[turn.turn_id] = _ShownCall(turn, chat)
        turn.add_listener(partial(self._feed, shown))

    def _feed(self, shown: _ShownCall, event: Event) -> None:
        if isinstance(event, CallAsked):
            shown.asked.add(event.digest)
        if self._widget and shown.turn.turn_id in self._shown:
            self._widget.feed_call(shown.turn.turn_id, event)
            if self._is_closed and isinstance(event, TurnEnded):
                background_loop().submit(self._finish())

    def _display(self, link: PageLink) -> None:
        """Display the card in the running cell; the page's messages act on the call that they name."""
        # Imported here, so that only cells that show a widget pay for it.
        from nbtool.view.served_widget import ServedWidget  # noqa: PLC0415

        widget = ServedWidget(
            self._calls,
            document=run_sync(self._document()),
            decide=self._decide,
            stop=self._stop,
            stop_call=self._stop_call,
            bind=self._bind,
            on_shown=self._on_shown,
            **link.options(in_cell=False),
        )
        link.connect(widget)
        if not link.has_listener:
            widget.embed_lazy_modules()  # the page may not be able to request it
        run_sync(self._switch_to(widget))
        self._handle = display_widget(widget)

    async def _document(self) -> Document:
        return self._calls.document()

    async def _switch_to(self, widget: ServedWidget) -> None:
        self._widget = widget
        widget.resume()

    async def _finish(self) -> None:
        """Replace the card by its static form, unless a call has yet to end."""
        if self._widget and self._link and not self._calls.are_under_way:
            widget, self._widget = self._widget, None
            bundle = widget.finish()
            self._handle.update(bundle, raw=True)
            self._link.replace_when_loaded(widget, (widget.place, bundle))

    def _decide(self, digest: str, verdict: dict[str, Any]) -> None:
        for shown in self._that_asked(digest):
            decide_by_click(shown.chat.approvals, digest, verdict)
            return
        raise ApprovalError(NOT_OPEN)

    def _on_shown(self, digest: str) -> None:
        for shown in self._that_asked(digest):
            shown.chat.approvals.mark_shown(digest)

    def _that_asked(self, digest: str) -> Iterator[_ShownCall]:
        return (shown for shown in self._shown.values() if digest in shown.asked)

    def _stop(self) -> None:
        for shown in self._shown.values():
            shown.turn.abort()

    def _stop_call(self, call_id: str) -> None:
        for shown in self._shown.values():
            shown.turn.stop_call(call_id)

    def _bind(self, binding: BindRequest) -> str:
        for shown in self._shown.values():
            if any(call.call_id == binding.call_id for call in shown.turn.calls):
                return bind_result(shown.chat, binding, self._shell.user_ns)
        raise BadUsage("This call has no stored result.", fix="`%chat tools` lists the available ones.")


def chat_name(client: str) -> str:
    """Return the name of a client's chat; no chat of the notebook has such a name."""
    return f"{CLIENT_CHAT}{client}"


def client_of(chat: str) -> str:
    """Return the client whose chat has this name; empty for a chat of the notebook."""
    return chat.removeprefix(CLIENT_CHAT) if chat.startswith(CLIENT_CHAT) else ""


def _print_question(client: str, chat: Chat, event: Event) -> None:
    if isinstance(event, CallAsked):
        page = sign_in_page(event.schema, is_form=event.is_form)
        question = one_line(summarize_request(event), 8 * len(page) + 300)
        print(ASKED_IN_TERMINAL.format(client=client, question=question, digest=event.digest[:SHOWN_DIGEST]))  # noqa: T201 - a notice for the person
        chat.approvals.mark_shown(event.digest)
