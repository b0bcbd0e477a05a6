"""The segments of a model's text: prose and calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

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


MalformedReason = Literal["other_form", "unreadable", "result", "after_result", "cut", "too_long", "too_many"]
"""Why a text that looks like a call is none: written in another form, not readable, a result that the model made up, a
call behind such a result, cut off, too long, or behind more beginnings of calls than are read."""


@dataclass(frozen=True, slots=True)
class MalformedSegment:
    """A text that looks like a call and does not run; `name` is the tool it names, if it can be told."""

    source: str
    reason: MalformedReason
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A place in a text that is written as calls; `calls` is None where it cannot be read.

    One that `is_cut` has no end, and one that `is_unread` is the rest of a text behind more blocks than are read.
    """

    start: int
    end: int
    calls: tuple[ParsedCall, ...] | None
    is_cut: bool = False
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class PendingSegment:
    """A call is being received and buffered; `size` is its characters so far."""

    size: int


Piece = TextSegment | CallSegment | MalformedSegment
"""A piece of a text of which no more is to come."""


def merge_text(segments: Iterable[Piece]) -> list[Piece]:
    """Join adjacent prose and remove empty segments."""
    merged: list[Piece] = []
    for is_text, run in groupby(segments, lambda segment: isinstance(segment, TextSegment)):
        if not is_text:
            merged += run
        elif text := "".join(segment.text for segment in run if isinstance(segment, TextSegment)):
            merged.append(TextSegment(text))
    return merged
