"""Where a cell's turn is shown: the widget in a page, lines in a terminal, or a static twin at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Event as ThreadEvent
from typing import TYPE_CHECKING, Any, Protocol

from IPython.display import display

from nbtool.blocks.static_html import saved
from nbtool.blocks.terminal import Terminal
from nbtool.events import Event
from nbtool.loop import core
from nbtool.magics.waiting import Ears, ears_for
from nbtool.tools.approval import Approved, Decision, Denied, Desk, Released, Withheld

if TYPE_CHECKING:
    from nbtool.chat.turn import Turn
    from nbtool.messages import Media


class View(Protocol):
    """Shows one turn. `hello` is set when a page can be heard, None where there is none."""

    hello: ThreadEvent | None

    def feed(self, event: Event) -> None:
        """Show the next event; on nbtool's own thread."""

    def listen(self) -> None:
        """Look around; on the waiting thread, every tick."""

    def finish(self, turn: Turn) -> None:
        """Leave what stays when the turn is over; on the waiting thread."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show the images and sounds that the turn brought, each as an output of the cell; on the waiting thread."""


class Quiet:
    """Shows nothing."""

    hello: ThreadEvent | None = None

    def feed(self, event: Event) -> None:
        """Show nothing."""

    def listen(self) -> None:
        """Hear nothing."""

    def finish(self, turn: Turn) -> None:
        """Leave nothing."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show none."""


class Outputs(Quiet):
    """Shows what the notebook itself can show, and of a turn nothing else."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show each as an output of its own, which the notebook keeps as it keeps any image."""
        for one in media:
            display(one)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class Static(Outputs):
    """Shows the finished turn, for runs that nobody watches (nbclient, papermill)."""

    def finish(self, turn: Turn) -> None:
        """Show the turn."""
        display(saved(turn.transcript().document()), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class Lines(Outputs):
    """Shows a turn as it goes in a terminal."""

    def __init__(self) -> None:
        self._terminal = Terminal(sys.stdout)

    def feed(self, event: Event) -> None:
        """Write the next piece."""
        self._terminal.feed(event)


class Page(Outputs):
    """Shows a turn in the page, hears its clicks, and leaves a static twin in the widget's place."""

    def __init__(self, kernel: Any, turn: Turn, desk: Desk) -> None:
        # Only a cell that shows a widget pays for importing one.
        from nbtool.view.widget import TurnWidget  # noqa: PLC0415

        self._widget = TurnWidget(
            turn.turn_id,
            decide=lambda digest, verdict: desk.decide(digest, decision(verdict), by="button"),
            stop=turn.stop,
            post=core().call_soon,
        )
        self._widget.on_msg(lambda _widget, content, _buffers: self._widget.hear(content))
        self.hello = self._widget.heard_hello
        self._ears = self._open(kernel)
        self._handle = display(self._widget, display_id=True)  # type: ignore[no-untyped-call]  # the same

    def feed(self, event: Event) -> None:
        """Show the next event."""
        self._widget.feed(event)

    def listen(self) -> None:
        """Hear what has come."""
        if self._ears:
            self._ears.listen()

    def finish(self, turn: Turn) -> None:  # noqa: ARG002 - the widget has folded the turn itself
        """Stop listening, put the static twin into the output, and close the widget."""
        if self._ears:
            self._ears.close()
        if self._handle:
            self._handle.update(self._widget.finish(), raw=True)
        self._widget.close()

    def _open(self, kernel: Any) -> Ears | None:
        ears = ears_for(kernel, self._widget.comm.comm_id, self._widget.hear) if self._widget.comm else None
        if ears:
            ears.open()
        return ears


def decision(verdict: dict[str, Any]) -> Decision:
    """Make a decision of what the page said."""
    match verdict["verdict"]:
        case "approved":
            return Approved(verdict.get("arguments"), verdict.get("remember") or "")
        case "denied":
            return Denied(verdict.get("reason", ""))
        case "released":
            return Released(verdict.get("text"))
        case _:
            return Withheld(verdict.get("reason", ""))


def view_for(shell: Any, *, quiet: bool, turn: Turn, desk: Desk) -> View:
    """Give the view that fits where the cell runs."""
    kernel = getattr(shell, "kernel", None)
    if quiet:
        return Quiet()
    if kernel is None:
        return Lines()
    # A front end that takes no line of input is no front end: nobody watches, and a widget would only be saved.
    return Page(kernel, turn, desk) if getattr(kernel, "_allow_stdin", False) else Static()
