"""The segments of a model's text: prose and calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.wire.prompted.call_json import ParsedCall


@dataclass(frozen=True, slots=True)
class TextSegment:
    """Text that is not a call, unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class CallSegment:
    """One or several adjacent calls; `source` is their text, including the marks."""

    calls: tuple[ParsedCall, ...]
    source: str


@dataclass(frozen=True, slots=True)
class PendingSegment:
    """A call is being received and buffered; `size` is its characters so far."""

    size: int


def merge_text(segments: Iterable[TextSegment | CallSegment]) -> list[TextSegment | CallSegment]:
    """Join adjacent prose and remove empty segments."""
    merged: list[TextSegment | CallSegment] = []
    run: list[str] = []
    for segment in segments:
        if isinstance(segment, TextSegment):
            run.append(segment.text)
            continue
        _end_run(run, merged)
        merged.append(segment)
    _end_run(run, merged)
    return merged


def _end_run(run: list[str], merged: list[TextSegment | CallSegment]) -> None:
    if text := "".join(run):
        merged.append(TextSegment(text))
    run.clear()
