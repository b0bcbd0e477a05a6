"""The widget of all calls of other programs: one card, whose questions and rows are those of many turns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from nbtool.blocks.fold.served_calls import ServedCalls
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.events import CallAsked, Event, TurnEnded
from nbtool.view.saved_form import Build
from nbtool.view.turn_widget import TurnWidget

if TYPE_CHECKING:
    from nbtool.blocks.fold.turn_events import Transcript

WITHOUT_WIDGETS = (
    "The calls of programs are shown here. Without widgets: `%chat approvals` and `%chat serve` list them."
)


class ServedWidget(TurnWidget):
    """Shows the calls of other programs until the notebook stops serving; `options` are those of a `TurnWidget`."""

    def __init__(self, calls: ServedCalls, **options: Any) -> None:
        self._calls, self._has_asked = calls, False
        # They have the part of a transcript's interface that a widget reads.
        super().__init__(calls.head["turn_id"], transcript=cast("Transcript", calls), **options)

    def __repr__(self) -> str:
        """Return the text of the output where there are no widgets."""
        return WITHOUT_WIDGETS

    def feed_call(self, key: str, event: Event) -> None:
        """Show the next event of the turn of a call; on the loop only."""
        self._show(self._calls.feed(key, event), event)

    def show_again(self) -> None:
        """Send all calls again, since some are no longer among them; on the loop only."""
        self._send_snapshot()
        self._renew_form()

    def finish(self) -> dict[str, Any]:
        """Return the final output in place of the widget; on the loop only."""
        self._calls.end()
        self._saved_form.stop()
        return self._form()

    def _form(self) -> dict[str, Any]:
        return turn_mimebundle(self._calls.saved(), self._calls.media)

    def _prepare_form(self) -> Build:
        return partial(turn_mimebundle, self._calls.saved(), dict(self._calls.media))

    def _renew_after(self, event: Event) -> None:
        """Renew what a notebook that is saved now keeps; not while an update of its display could take the focus."""
        is_asking = isinstance(event, CallAsked)
        is_answered = self._has_asked and isinstance(event, TurnEnded)
        self._has_asked = is_asking or (self._has_asked and not is_answered)
        if self._is_page_writing or self._calls.head["status"] != "waiting" or is_asking:
            self._renew_form(at_once=is_asking or is_answered)
