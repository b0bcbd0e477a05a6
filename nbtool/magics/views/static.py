"""What every view of a turn can do, and the views that need no page: none, a terminal, a notebook nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Event as ThreadEvent
from typing import TYPE_CHECKING, Protocol

from IPython.display import display

from nbtool.blocks.mimebundle import turn_mimebundle
from nbtool.blocks.terminal import Terminal
from nbtool.events import Event

if TYPE_CHECKING:
    from nbtool.chat.turn import Turn
    from nbtool.messages import Media

PARKED = "Parked: the turn waits for you, and the cell has ended. {ways}; `%chat approvals` lists what waits."
SHOWN_DIGEST = 12
"""Characters of a question's digest that name it."""


class View(Protocol):
    """Shows one turn. `hello` is set when a page can be heard, None where there is none."""

    page_ready: ThreadEvent | None

    def feed(self, event: Event) -> None:
        """Show the next event; on nbtool's own thread."""

    def poll(self) -> None:
        """Look around; on the waiting thread, every tick."""

    def on_parked(self, turn: Turn) -> None:
        """Leave what stays when the cell ends before the turn; on the waiting thread."""

    def on_finished(self, turn: Turn) -> None:
        """Leave what stays when the turn is over; on the waiting thread, or nbtool's own after the cell."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show the images and sounds that the turn brought, each as an output of the cell; on the same thread."""


class NullView:
    """Shows nothing; but that a turn waits is said, for nothing waits in silence."""

    page_ready: ThreadEvent | None = None

    def feed(self, event: Event) -> None:
        """Show nothing."""

    def poll(self) -> None:
        """Hear nothing."""

    def on_parked(self, turn: Turn) -> None:
        """Say what waits, and how it is answered."""
        ids = [digest[:SHOWN_DIGEST] for digest in turn.parking.questions]
        hint = f"`%chat approve {ids[0]}` or `%chat deny {ids[0]} REASON`" if ids else "It goes on in the background"
        print(PARKED.format(ways=hint))  # noqa: T201 - what the person has to see

    def on_finished(self, turn: Turn) -> None:
        """Leave nothing."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show none."""


class OutputView(NullView):
    """Shows what the notebook itself can show, and of a turn nothing else."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show each as an output of its own, which the notebook keeps as it keeps any image."""
        for one in media:
            display(one)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class StaticView(OutputView):
    """Shows the finished turn, for runs that nobody watches (nbclient, papermill)."""

    def on_finished(self, turn: Turn) -> None:
        """Show the turn."""
        transcript = turn.transcript()
        display(turn_mimebundle(transcript.document(), transcript.media), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class TerminalView(OutputView):
    """Shows a turn as it goes in a terminal; what comes after the cell is not said aloud, `%chat show` shows it."""

    def __init__(self) -> None:
        self._terminal = Terminal(sys.stdout)
        self._is_parked = False

    def feed(self, event: Event) -> None:
        """Write the next piece."""
        if not self._is_parked:
            self._terminal.feed(event)

    def on_parked(self, turn: Turn) -> None:
        """Say what waits, and write no more."""
        self._is_parked = True
        super().on_parked(turn)

    def show_media(self, media: Sequence[Media]) -> None:
        """Show each, unless somebody types at the next prompt by now."""
        if not self._is_parked:
            super().show_media(media)
