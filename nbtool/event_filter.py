"""The events of a turn as an audience gets them: each by its fields, and none with what a person may still withhold.

Of a call whose result may be withheld, or that was made inside one, an audience gets the output and the inner calls'
content only once the result was released.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard, TypeVar

from nbtool.audience import AUDIENCES, Audience, Hide, for_audience, without_content
from nbtool.events import (
    BY_ERROR,
    CallDecided,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Event,
    Notice,
    TurnStarted,
)

REFUSED_STATUSES = frozenset(("denied", "withheld", "not_run"))
"""The statuses of calls that code of the user may have refused by failing."""

AnyEvent = TypeVar("AnyEvent", bound=Event)

NAMES = frozenset(("name", "tool", "qualified_name", "by", "reference"))
"""What stays of a call whose content does not: its tool, who decided, and the variable with its result."""


class EventFilter:
    """Returns the events of one turn, in order, as an audience gets them.

    `released` are the calls whose results are known to be released, and `reasons` what was sent of refused calls, for a
    turn that has ended. Logs and spans get no content of a turn that runs inside a call whose result may be withheld.
    """

    def __init__(
        self,
        audience: Audience,
        hide: Hide | None = None,
        *,
        released: Iterable[str] = (),
        reasons: dict[str, str] | None = None,
    ) -> None:
        self.audience = audience
        self.hide = hide
        self._kinds = AUDIENCES[audience]
        self._released = set(released)
        self._guarded: set[str] = set()
        self._inside: dict[str, str] = {}
        self._refused: set[str] = set()
        self._reasons = reasons or {}
        self.has_no_content = False

    def release(self, call_id: str) -> None:
        """Note that the result of a call was released, and with it what it printed."""
        self._released.add(call_id)

    def feed(self, event: AnyEvent) -> AnyEvent | None:
        """Return an event for the audience; None if there is nothing in it for it."""
        if self.audience == "person":
            return event
        if isinstance(event, Notice) and event.topic == "wrong_answer" and "told" not in self._kinds:
            return None
        if isinstance(event, TurnStarted) and event.guarded and self.audience in ("log", "span"):
            self.hide, self.has_no_content = _hide_all, True
        call_id: str = getattr(event, "call_id", "")
        seen = self._without_withheld(event, call_id) if call_id else event
        shown = for_audience(seen, self.audience, hide=self.hide)
        is_empty = isinstance(shown, CallProgress) and not shown.text and shown.fraction is None
        return None if is_empty else shown  # type: ignore[return-value]  # of the same type

    def _without_withheld(self, event: Event, call_id: str) -> Event:
        """Return an event of a call without what may still be withheld, and with the reasons that were sent."""
        if isinstance(event, CallReady | CallFinished) and event.inside:
            self._inside[event.call_id] = event.inside
        if isinstance(event, CallStarted) and event.guarded:
            self._guarded.add(event.call_id)
        if self._inside and self.is_inside_guarded(call_id):
            return _outline(event)
        match event:
            case CallProgress():
                is_open = event.call_id in self._released or not (event.guarded or event.call_id in self._guarded)
                return event if event.guarded is not is_open else replace(event, guarded=not is_open)
            case CallDecided():
                return self._decided(event)
            case CallFinished():
                return self._finished(event)
            case _:
                return event

    def _decided(self, event: CallDecided) -> CallDecided:
        if event.by != BY_ERROR:
            if event.verdict in ("denied", "withheld"):
                self._refused.add(event.call_id)
            return event
        return event if "told" in self._kinds else replace(event, reason=self._reasons.get(event.call_id, ""))

    def _finished(self, event: CallFinished) -> CallFinished:
        if "told" not in self._kinds and event.status in REFUSED_STATUSES and event.call_id not in self._refused:
            event = replace(event, reason=event.shown)  # the person's may quote a value
        if event.call_id in self._guarded and self.audience == "document":
            return replace(event, media=(), media_unsaved=0, table={})
        if event.media and "view" not in self._kinds:
            return replace(event, media=(), media_unsaved=event.media_unsaved + len(event.media))
        return event

    @property
    def inner_calls(self) -> frozenset[str]:
        """The calls so far that other calls made."""
        return frozenset(self._inside)

    def is_inside_guarded(self, call_id: str) -> bool:
        """Return whether a call was made inside one whose result may still be withheld, or was."""
        around, seen = self._inside.get(call_id, ""), {call_id}
        while around and around not in seen:
            if around in self._guarded and around not in self._released:
                return True
            seen.add(around)
            around = self._inside.get(around, "")
        return False


def filter_events(log: Sequence[Event], audience: Audience, hide: Hide | None = None) -> list[Event]:
    """Return the events of a turn that has ended, or of its part so far, as an audience gets them."""
    finished = (event for event in log if isinstance(event, CallFinished) and event.status in REFUSED_STATUSES)
    reasons = {event.call_id: event.shown for event in finished}
    only = EventFilter(audience, hide, released=released_calls(log), reasons=reasons)
    return [shown for event in log if (shown := only.feed(event)) is not None]


def released_calls(log: Iterable[Event]) -> set[str]:
    """Return the calls whose results the model got as they are: what they printed may be read too."""
    withdrawn = {event.call_id for event in log if is_withdrawal(event)}
    finished = (event for event in log if isinstance(event, CallFinished) and is_delivered(event))
    return {event.call_id for event in finished} - withdrawn


def is_withdrawal(event: Event) -> TypeGuard[CallDecided]:
    """Whether a person withheld or edited a result."""
    return isinstance(event, CallDecided) and event.gate == "result" and (event.edited or event.verdict == "withheld")


def is_delivered(event: CallFinished) -> bool:
    """Whether the model got the outcome of a call, and not a description of it."""
    return event.status in ("ok", "error") and not event.is_described


def hidden_calls(log: Sequence[Event]) -> set[str]:
    """Return the calls that were made inside one whose result was not released."""
    only = EventFilter("export", released=released_calls(log))
    for event in log:
        only.feed(event)
    return {call_id for call_id in only.inner_calls if only.is_inside_guarded(call_id)}


def _hide_all(_: str) -> str:
    return ""


def _outline(event: Event) -> Event:
    """Return that a call inside another one was made, and not what it took and returned."""
    outline = without_content(event, keep=NAMES)
    match outline:
        case CallReady():
            return replace(outline, arguments="{}")
        case CallProgress():
            return replace(outline, guarded=True)
        case _:
            return outline
