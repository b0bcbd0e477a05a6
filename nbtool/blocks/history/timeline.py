"""The timeline of a turn: time spans of waiting for the model, the person and the tools."""

from __future__ import annotations

from collections.abc import Sequence

from nbtool.blocks.history.protocol import Party, Span
from nbtool.blocks.labels import decision_text
from nbtool.blocks.sanitize import one_line
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    ReplyFinished,
    RequestStarted,
    TurnEnded,
    TurnStarted,
)
from nbtool.text import left_out
from nbtool.turn_view import TurnView

TimedLog = Sequence[tuple[float | None, Event]]
"""Events, each with its time in seconds since the epoch if it is known."""

MAX_SPANS = 400
"""Spans of one turn in a timeline, the first ones."""


def timed_log(turn: TurnView) -> TimedLog:
    """Return the events of a turn, each with its time if known; safe while the turn is running."""
    log, event_times = list(turn.log), list(turn.event_times)
    if len(event_times) < len(log):
        return [(None, event) for event in log]
    return list(zip(event_times, log, strict=False))


def spans(log: TimedLog, *, max_spans: int = MAX_SPANS) -> list[Span]:
    """Return the spans of a turn in the order of their starts.

    Unknown times are estimated from durations in the events: then a person's thinking time is what the other
    spans do not account for.
    """
    timeline = _Timeline()
    for at, event in log:
        timeline.feed(at, event)
    return timeline.close(max_spans)


def total_waits(stretches: Sequence[Span]) -> dict[Party, float]:
    """Return the waiting time for each in seconds; overlaps, such as parallel calls, count once."""
    return {
        who: _union_length([span for span in stretches if span["who"] == who]) for who in ("model", "person", "tool")
    }


class _Timeline:
    """The spans so far, the open ones by whom and what they wait for, and the time."""

    def __init__(self) -> None:
        self._start = self._now = 0.0
        self._spans: list[Span] = []
        self._open: dict[tuple[Party, str], Span] = {}
        self._names: dict[str, tuple[str, int]] = {}

    def feed(self, at: float | None, event: Event) -> None:
        """Add the next event."""
        match event:
            case TurnStarted():
                self._start = event.started
                self._at(at)
            case RequestStarted():
                self._begin(at, "model", "", f"round {event.round}", event.round)
            case ReplyFinished():
                self._end(self._end_time(at, "model", "", event.seconds), "model", "", event.stop_reason)
            case TurnEnded():
                self._at(self._start + event.seconds if event.seconds and at is None else at)
            case _:
                self._call(at, event)

    def _call(self, at: float | None, event: Event) -> None:
        match event:
            case CallReady():
                self._at(at)
                self._names[event.call_id] = (one_line(event.display_name, 64), event.round)
            case CallAsked():
                if event.gate == "result":
                    self._end(at, "tool", event.call_id, "ran")
                self._begin(at, "person", event.call_id, *self._call_label(event.call_id, event.display_name))
            case CallDecided():
                self._end(at, "person", event.call_id, decision_text(event.verdict, event.by))
            case CallStarted():
                self._end(event.started, "person", event.call_id, "")
                self._begin(event.started, "tool", event.call_id, *self._call_label(event.call_id, ""))
            case CallFinished():
                for who in ("tool", "person"):
                    self._end(self._end_time(at, who, event.call_id, event.seconds), who, event.call_id, event.status)
            case _:
                self._at(at)

    def close(self, max_spans: int) -> list[Span]:
        """Return all spans; open ones end now."""
        for span in self._open.values():
            span["end"] = max(span["start"], self._now)
        more = len(self._spans) - max_spans
        if more <= 0:
            return self._spans
        last = self._spans[max_spans]
        return [*self._spans[:max_spans], {**last, "label": left_out(more, "stretches"), "end": self._now}]

    def _begin(self, at: float | None, who: Party, call_id: str, label: str, round: int = 0) -> None:
        now = self._at(at)
        span: Span = {
            "who": who, "label": label, "round": round, "call_id": call_id, "start": now, "end": now, "state": "",
        }  # fmt: skip
        self._open[who, call_id] = span
        self._spans.append(span)

    def _end(self, at: float | None, who: Party, call_id: str, state: str) -> None:
        now = self._at(at)
        if span := self._open.pop((who, call_id), None):
            span["end"], span["state"] = max(span["start"], now), state

    def _end_time(self, at: float | None, who: Party, call_id: str, seconds: float) -> float | None:
        """Return when a span of this length ended, if its event has no time."""
        span = self._open.get((who, call_id))
        return at if at is not None or span is None else self._start + span["start"] + seconds

    def _at(self, at: float | None) -> float:
        """Advance the time to this moment, never backwards; return the seconds since the turn started."""
        if at is not None:
            self._now = max(self._now, at - self._start)
        return self._now

    def _call_label(self, call_id: str, name: str) -> tuple[str, int]:
        return self._names.get(call_id, (one_line(name or "a call", 64), 0))


def _union_length(stretches: Sequence[Span]) -> float:
    total = end = 0.0
    for span in sorted(stretches, key=lambda span: span["start"]):
        total += max(0.0, span["end"] - max(end, span["start"]))
        end = max(end, span["end"])
    return total
