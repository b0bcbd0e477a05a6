"""One turn, step by step: the events, and the changes of each to the turn's document.

The page applies the patches up to any step; the folding is the same as in the live view.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from nbtool.blocks.display_limits import omitted_marker, truncate
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.history.protocol import Detail, Step
from nbtool.blocks.history.timeline import TimedLog, spans, timed_log
from nbtool.blocks.history.tree_rows import origin_of
from nbtool.blocks.labels import CALL_STATE_LABELS, TURN_STATUS_WORDS, decision_text
from nbtool.blocks.protocol import Patch
from nbtool.blocks.sanitize import one_line
from nbtool.event_filter import EventFilter, filter_events, released_calls
from nbtool.events import DELTAS, Event, TurnStarted
from nbtool.messages import Media
from nbtool.text import map_text
from nbtool.turn_view import TurnView
from nbtool.wire.framing.known_secrets import secret_hider

MAX_STEPS = 500
"""Steps of one turn; everything after them is one more step."""

DETAIL_LIMIT = 1_500_000
"""Bytes of the steps of one turn that are sent to the page; longer texts are truncated to fit."""

_MIN_CHARS = 500
"""Minimum characters that are kept of a text."""

_MAX_NAME_CHARS = 48


def detail(
    turn: TurnView, log: TimedLog | None = None, *, max_steps: int = MAX_STEPS, max_bytes: int = DETAIL_LIMIT
) -> Detail:
    """Return one turn: its steps and its timeline; `log` are its events with times from elsewhere."""
    log = timed_log(turn) if log is None else log
    steps = _fit_steps(_steps(log, max_steps), max_bytes)
    return {"turn_id": turn.turn_id, "made": origin_of(turn), "steps": steps, "spans": spans(log)}


def media(turn: TurnView) -> Mapping[str, Media]:
    """Return the images and sounds in a turn's steps, by key."""
    transcript = Transcript()
    for event in filter_events(list(turn.log), "notebook", secret_hider()):
        transcript.feed(event)
    return transcript.media


def _steps(log: TimedLog, max_steps: int) -> list[Step]:
    transcript, names = Transcript(), _StepLabels()
    began = next((event.started for _, event in log if isinstance(event, TurnStarted)), 0.0)
    steps: list[Step] = []
    last = ""
    shown_events = EventFilter("notebook", secret_hider(), released=released_calls([event for _, event in log]))
    for at, event in log:
        shown = shown_events.feed(event)
        patches = transcript.feed(shown) if shown else []
        label = names.label(event)
        if steps and (not label or _continues(event, last) or len(steps) > max_steps):
            steps[-1]["patches"] += patches
        elif label or patches:
            elapsed = None if at is None else max(0.0, at - began)
            steps.append({"label": label or "Began", "at": elapsed, "patches": patches})
        last = _key(event)
    if len(steps) > max_steps:
        steps[-1]["label"] = "All later steps"
    return steps


def _continues(event: Event, last: str) -> bool:
    """Return whether this continues the step before: streamed prose, or output of one call."""
    return (type(event) in DELTAS or event.kind == "call_progress") and _key(event) == last


def _key(event: Event) -> str:
    return f"{event.kind} {getattr(event, 'call_id', '')}"


class _StepLabels:
    """Labels of events; a call is identified by its name from its first event on."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def label(self, event: Event) -> str:
        """Describe an event briefly; empty if it makes no step."""
        call_id = getattr(event, "call_id", "")
        if name := getattr(event, "display_name", "") or getattr(event, "name", ""):
            self._names[call_id] = one_line(name, _MAX_NAME_CHARS)
        template = _LABELS.get(event.kind)
        return template(event, self._names.get(call_id, "a call")) if template else ""


_LABELS: Mapping[str, Callable[[Any, str], str]] = {
    "turn_started": lambda _, __: "The turn started",
    "request_started": lambda event, _: f"Round {event.round}: {'replayed' if event.given else 'request sent'}",
    "text_delta": lambda _, __: "The model writes",
    "thinking_delta": lambda _, __: "The model thinks",
    "reply_finished": lambda event, _: f"Round {event.round}: reply {'complete' if event.complete else 'broken off'}",
    "call_ready": lambda _, name: f"{name}: requested",
    "call_asked": lambda event, name: f"{name}: {'may it run?' if event.gate == 'run' else 'may its result be sent?'}",
    "call_decided": lambda event, name: f"{name} {decision_text(event.verdict, event.by)}",
    "call_started": lambda _, name: f"{name} runs",
    "call_progress": lambda _, name: f"{name} prints",
    "call_finished": lambda event, name: f"{name}: {CALL_STATE_LABELS[event.status][1]}",
    "message_appended": lambda event, _: "You added a text" if event.message and event.message.added else "",
    "notice": lambda _, __: "Notice",
    "error_raised": lambda _, __: "Error",
    "turn_parked": lambda _, __: "Parked",
    "turn_ended": lambda event, _: f"The turn ended: {TURN_STATUS_WORDS.get(event.status, event.status)}",
}


def _fit_steps(steps: list[Step], max_bytes: int) -> list[Step]:
    """Truncate the longest texts until all steps fit."""
    cap = max_bytes
    while cap > _MIN_CHARS and len(json.dumps(steps)) > max_bytes:
        cap //= 4
        truncate_text = partial(_truncate, cap=cap)
        for step in steps:
            step["patches"] = cast("list[Patch]", map_text(step["patches"], truncate_text))
    return steps


def _truncate(text: str, cap: int) -> str:
    beginning, omitted = truncate(text, cap)
    return f"{beginning}\n{omitted_marker(omitted)}" if omitted else text
