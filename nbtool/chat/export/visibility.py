"""The part of a turn that is exported: what was sent to the model, without what a user or plugin withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nbtool.chat.conversation import restore
from nbtool.chat.export.local_paths import without_local_paths
from nbtool.chat.journal import redactor_for
from nbtool.chat.journal.redaction import redact_event
from nbtool.chat.turn import Turn
from nbtool.chat.turn.sent_reasons import with_sent_reasons
from nbtool.event_json import dump_event, load_event
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallProgress,
    CallStarted,
    Event,
    MessageAppended,
    Notice,
    ReplyFinished,
    TurnStarted,
)


def shareable_turn(turn: Turn, plugins: Sequence[object] = ()) -> Turn:
    """Return a turn for a document to be read: without withheld and private content, and without paths of this machine.

    It has the images and tables that a person was shown.
    """
    return restore.restore_turn(shareable_events(turn, plugins, with_views=True))


def shareable_events(turn: Turn, plugins: Sequence[object] = (), *, with_views: bool = False) -> list[Event]:
    """Return a turn's events without withheld content, and with private values redacted as in the journal.

    The content of result approvals is removed, and the output of calls whose result was withheld or edited; so are
    reasons that only the person read, and data that only the model's provider can read. Images and tables of results
    that a person was shown are in the events only `with_views`, and never those of a result that needed an approval: of
    it only what was sent to the model is there.
    """
    withheld = _withheld_calls(turn.log)
    hidden = _guarded_calls(turn.log) if with_views else None
    events = [
        _without_native(
            replace(event, shown="") if isinstance(event, CallAsked) and event.gate == "result" else event, hidden
        )
        for event in with_sent_reasons(turn.log)
        if not (isinstance(event, CallProgress) and event.call_id in withheld) and not _says_imported(event)
    ]
    functions = [redactor_for(plugins, turn.turn_id), without_local_paths if with_views else None]
    for hide in filter(None, functions):
        events = [load_event(redact_event(dump_event(event), hide)) for event in events]
    return events


def is_imported(turn: Turn) -> bool:
    """Whether a turn came from a file."""
    return any(map(_says_imported, turn.log))


def imported_notice() -> Notice:
    """Return the first notice of a turn that was read from a file."""
    return Notice("This turn was imported from a file: nobody here saw it happen.", "warning", "imported")


def _says_imported(event: Event) -> bool:
    return isinstance(event, Notice) and event.topic == "imported"


def _withheld_calls(log: Sequence[Event]) -> set[str]:
    """Return the calls whose results were not sent to the model, or were edited before."""
    guarded = _guarded_calls(log)
    delivered = {event.call_id for event in log if isinstance(event, CallFinished) and event.status in ("ok", "error")}
    decided = [event for event in log if isinstance(event, CallDecided) and event.gate == "result"]
    return guarded - delivered | {event.call_id for event in decided if event.edited or event.verdict == "withheld"}


def _guarded_calls(log: Sequence[Event]) -> set[str]:
    """Return the calls whose results needed an approval."""
    return {event.call_id for event in log if isinstance(event, CallStarted) and event.guarded}


def _without_native(event: Event, hidden: set[str] | None) -> Event:
    """Remove native forms, and the views of calls; all of them if `hidden` is None."""
    match event:
        case TurnStarted():
            return replace(event, prompt=replace(event.prompt, native=None))
        case ReplyFinished() | MessageAppended():
            return replace(event, message=replace(event.message, native=None))
        case CallFinished() if hidden is None or event.call_id in hidden:
            # The images that the model received are in the messages; of a guarded result nothing is counted.
            unsaved = event.media_unsaved + len(event.media) if hidden is None else 0
            return replace(event, media=(), media_unsaved=unsaved, table={})
        case CallAsked():
            return replace(event, media=())
    return event
