"""The deltas of a reply, and the events of a turn.

A turn is one stream of events. Between `RequestStarted` and `ReplyFinished` are the deltas of that reply, the same
objects that the wire created, so that nothing is built twice per token. Every event is a plain value that the journal
can write as JSON (see `event_json`); views and exports are built from events alone.

    deltas.py   the fragments of a reply        turn.py   the events of a turn as a whole
    calls.py    the events of a tool call
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

# isort: off
from nbtool.events.calls import (
    BY_ERROR, BY_NOBODY, BY_NO_DECISION, CallAsked, CallDecided, CallFinished, CallProgress, CallReady, CallStarted,
    CallStatus, Difference, Gate, MAX_DISPLAY_CHARS, RepeatedQuestion, ResolvedArgument, ResolvedReference,
    WHOLE_RESULT, resolve_arguments,
)  # fmt: skip
from nbtool.events.deltas import (
    CallDelta, CallPending, DELTAS, Delta, MediaDelta, ProviderDelta, RefusalDelta, ReplyEnd, Retrying, StopReason,
    StreamNotice, TextDelta, ThinkingDelta, UsageDelta,
)  # fmt: skip
from nbtool.events.turn import (
    EndReason, ErrorRaised, MessageAppended, Notice, NoticeTopic, Phase, ReplyFinished, RequestStarted, TreeChanged,
    TreeOp, TurnEnded, TurnParked, TurnStarted, TurnStatus,
)  # fmt: skip

__all__ = [
    "BY_ERROR",
    "BY_NOBODY",
    "BY_NO_DECISION",
    "DELTAS",
    "MAX_DISPLAY_CHARS",
    "WHOLE_RESULT",
    "CallAsked",
    "CallDecided",
    "CallDelta",
    "CallFinished",
    "CallPending",
    "CallProgress",
    "CallReady",
    "CallStarted",
    "CallStatus",
    "Delta",
    "Difference",
    "Emit",
    "EndReason",
    "ErrorRaised",
    "Event",
    "Gate",
    "MediaDelta",
    "MessageAppended",
    "Notice",
    "NoticeTopic",
    "Phase",
    "ProviderDelta",
    "RefusalDelta",
    "RepeatedQuestion",
    "ReplyEnd",
    "ReplyFinished",
    "RequestStarted",
    "ResolvedArgument",
    "ResolvedReference",
    "Retrying",
    "StopReason",
    "StreamNotice",
    "TextDelta",
    "ThinkingDelta",
    "TreeChanged",
    "TreeOp",
    "TurnEnded",
    "TurnParked",
    "TurnStarted",
    "TurnStatus",
    "UsageDelta",
    "resolve_arguments",
]  # fmt: skip

Event = (
    Delta | TurnStarted | TreeChanged | RequestStarted | ReplyFinished | CallReady | CallAsked | CallDecided
    | TurnParked | CallStarted | CallProgress | CallFinished | MessageAppended | Notice | ErrorRaised | TurnEnded
)  # fmt: skip

Emit = Callable[[Event], Awaitable[None]]
"""Emits an event; returns once the event is in the journal, and only then may the emitter act.

Of a disk that hangs it waits for `WAIT_SECONDS` of `chat.journal.process_journal`; the person is warned, and the event
is in memory until it is written.
"""
