"""The interface of views, and the views without a page: none, a terminal, an unattended notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from IPython.display import display

from nbtool.blocks.question import describe_request
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.blocks.render.terminal import Terminal
from nbtool.events import CallAsked, Event, Notice, TurnEnded
from nbtool.magics.notebook.turn_output import host_fields

if TYPE_CHECKING:
    from nbtool.chat.chat import Chat
    from nbtool.chat.turn import Turn
    from nbtool.messages import Media
    from nbtool.turn_place import TurnPlace

PARKED = "Parked: the cell has ended, and the turn needs a decision. {ways}; `%chat approvals` lists pending calls."
SHOWN_DIGEST = 12
"""Characters of a question's digest that are shown as its id."""


def open_requests(turn: Turn) -> list[CallAsked]:
    """Return the open questions of a turn, as they were asked, oldest first."""
    asked = {event.digest: event for event in turn.log if isinstance(event, CallAsked)}
    return [asked[digest] for digest in turn.state.questions if digest in asked]


def list_request(question: CallAsked) -> str:
    """Return a question in full below its id, as a list of questions shows it."""
    return f"{question.digest[:SHOWN_DIGEST]}  {describe_request(question)}".replace("\n", "\n    ")


class View:
    """Shows one turn; this one nothing. `turn_place` is where it is on the pages; None where there are none."""

    turn_place: TurnPlace | None = None

    def feed(self, event: Event) -> None:
        """Show the next event; on nbtool's own thread."""

    def poll(self) -> None:
        """Process messages; on the waiting thread, every tick."""

    def show_again(self, *, is_cleared: bool = False) -> None:
        """Show the turn again in its cell, whose output is gone, or was just cleared; on the waiting thread."""

    def show_changes(self, text: str, *, can_undo: bool) -> None:
        """Show what the turn did to the notebook, and whether that can be undone; on the waiting thread."""

    def show_deadline(self, at: float) -> None:
        """Show until when a question waits, in seconds since the epoch; on nbtool's own thread."""

    def on_parked(self, turn: Turn) -> None:
        """Write the output that remains when the cell ends before the turn; on the waiting thread."""

    def on_finished(self, turn: Turn) -> None:
        """Write the final output when the turn ends; on the waiting thread, or nbtool's own after the cell."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show the images and sounds of the turn, each as an output of the cell; on the same thread."""


class NullView(View):
    """Shows nothing, except that a turn waits for a decision; `on_shown` gets the digest of each question it prints."""

    def __init__(self, on_shown: Callable[[str], object] = lambda _: None) -> None:
        self._on_shown = on_shown

    def on_parked(self, turn: Turn) -> None:
        """Print what needs a decision, and how to decide."""
        ids = [digest[:SHOWN_DIGEST] for digest in turn.state.questions]
        hint = f"`%chat approve {ids[0]}` or `%chat deny {ids[0]} REASON`" if ids else "It continues in the background"
        print(PARKED.format(ways=hint))  # noqa: T201 - a notice for the person
        for question in open_requests(turn):
            print(list_request(question))  # noqa: T201 - the same
            self._on_shown(question.digest)


class OutputView(NullView):
    """Shows the media of a turn as notebook outputs, and nothing else."""

    def show_media(self, media: Sequence[Media]) -> None:
        """Show each as a separate output, which the notebook saves like any image."""
        for item in media:
            display(item)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class StaticView(OutputView):
    """Shows the finished turn, for unattended runs (nbclient, papermill)."""

    def __init__(self, chat: Chat | None = None) -> None:
        super().__init__()
        self._chat = chat
        self._changes: tuple[str, bool] | None = None

    def show_changes(self, text: str, *, can_undo: bool) -> None:
        """Show it at the end of the turn."""
        self._changes = text, can_undo

    def on_finished(self, turn: Turn) -> None:
        """Show the turn."""
        transcript = turn.transcript()
        if self._changes:
            transcript.show_changes(*self._changes)
        transcript.update_head(**(host_fields(turn, self._chat) if self._chat else {}))
        display(turn_mimebundle(transcript.document(), transcript.media), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it


class TerminalView(OutputView):
    """Streams a turn to a terminal; what happens after the cell is not printed, `%chat show` shows it."""

    def __init__(self, turn: Turn, chat: Chat) -> None:
        super().__init__(chat.approvals.mark_shown)
        self._turn, self._chat = turn, chat
        self._terminal = Terminal(sys.stdout)
        self._is_parked = False

    def feed(self, event: Event) -> None:
        """Write the next event."""
        if self._is_parked:
            return
        if isinstance(event, TurnEnded):
            self._terminal.update_head(**host_fields(self._turn, self._chat))
        self._terminal.feed(event)
        if isinstance(event, CallAsked):
            self._on_shown(event.digest)

    def show_changes(self, text: str, *, can_undo: bool) -> None:  # noqa: ARG002 - the text names the command
        """Write it in a line."""
        self._terminal.feed(Notice(text))

    def on_parked(self, turn: Turn) -> None:
        """Print what needs a decision, and stop writing."""
        self._is_parked = True
        super().on_parked(turn)

    def show_media(self, media: Sequence[Media]) -> None:
        """Show each, unless a later prompt is already being edited."""
        if not self._is_parked:
            super().show_media(media)
