"""The reasons of refused calls as they were sent to the model: those of a person may quote values, and stay here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nbtool.events import CallDecided, CallFinished, Event, Notice
from nbtool.tools.approval import BY_ERROR

REFUSED_STATUSES = frozenset(("denied", "withheld", "not_run"))
"""The statuses of calls that code of the user may have refused by failing."""


def with_sent_reasons(events: Sequence[Event]) -> list[Event]:
    """Return events for a file: with what the model read of a call, where code of the user failed to decide about it.

    The reason that somebody gave for a decision is kept. Notices about what an approver returned are left out: they
    quote it.
    """
    decisions = [event for event in events if isinstance(event, CallDecided) and event.by != BY_ERROR]
    decided = {event.call_id for event in decisions if event.verdict in ("denied", "withheld")}
    finished = (event for event in events if isinstance(event, CallFinished) and event.status in REFUSED_STATUSES)
    sent = {event.call_id: event.shown for event in finished if event.call_id not in decided}
    return [
        _with_sent_reason(event, sent)
        for event in events
        if not (isinstance(event, Notice) and event.topic == "wrong_answer")
    ]


def _with_sent_reason(event: Event, sent: dict[str, str]) -> Event:
    if isinstance(event, CallFinished) and event.call_id in sent:
        return replace(event, reason=sent[event.call_id])
    if isinstance(event, CallDecided) and event.by == BY_ERROR:
        return replace(event, reason=sent.get(event.call_id, ""))
    return event
