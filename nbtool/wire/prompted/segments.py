"""What a model's text is cut into: prose and calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.wire.prompted.call_json import ParsedCall


@dataclass(frozen=True, slots=True)
class TextSegment:
    """Text that is no call, character for character."""

    text: str


@dataclass(frozen=True, slots=True)
class CallSegment:
    """One call or several that stood together; `source` is the text they were read from, marks included."""

    calls: tuple[ParsedCall, ...]
    source: str


@dataclass(frozen=True, slots=True)
class PendingSegment:
    """A call is being written and held back; `size` characters of it are there."""

    size: int


def merge_text(segments: Iterable[TextSegment | CallSegment]) -> list[TextSegment | CallSegment]:
    """Join neighbouring prose and drop what is empty."""
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
