"""Parses the calls in a whole text of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.ids import new_id
from nbtool.messages import ToolCall
from nbtool.wire.prompted.call_json import ParsedCall
from nbtool.wire.prompted.model_format_scanner import Scanner
from nbtool.wire.prompted.segments import CallSegment, PendingSegment, Piece, TextSegment, merge_text
from nbtool.wire.prompted.undelimited import parse_undelimited

_THINKING_ENDS = "</think>"


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The prose and the calls of a text; `text` is everything except the calls, unchanged."""

    text: str
    calls: tuple[ToolCall, ...] = ()


def parse_calls(text: str, names: Iterable[str] | None = None, *, complete: bool = True) -> ParsedText:
    """Split a model's text into prose and calls.

    `names` are the available tools: a call of any other stays text. Without `names` every name is accepted. `complete`
    is whether the reply ended normally; calls of a truncated reply are not runnable, and the truncated one is not a
    call. If one call cannot be parsed, the text has no calls at all: part of the model's plan is not its plan.

    Raises:
        nbtool.errors.BadUsage: `text` is not a string, or `names` is a single string.
    """
    if not isinstance(text, str):
        raise BadUsage(f"What a model wrote is a text; {type(text).__name__} came.", fix="Decode bytes first.")
    if isinstance(names, str):
        raise BadUsage(f"`names` lists the tools there are; {names!r} is one text.", fix=f"Write `[{names!r}]`.")
    known_names = None if names is None else frozenset(names)
    scanner = Scanner(names=known_names)
    segments = merge_text(
        segment
        for segment in (*scanner.feed(text), *scanner.close(complete=complete))
        if not isinstance(segment, PendingSegment)
    )
    if scanner.has_invalid_call:
        return ParsedText(text)
    parsed = (
        _drop_calls_in_thinking(segments) if scanner.saw_delimiter else _parse_without_delimiters(text, known_names)
    )
    return ParsedText(
        text="".join(segment.text for segment in parsed if isinstance(segment, TextSegment)),
        calls=tuple(
            _as_tool_call(call, complete)
            for segment in parsed
            if isinstance(segment, CallSegment)
            for call in segment.calls
        ),
    )


def _drop_calls_in_thinking(segments: list[Piece]) -> list[Piece]:
    """Discard the calls before a `</think>`: some chat templates contain the opening tag themselves."""
    thinking_ends = [
        index
        for index, segment in enumerate(segments)
        if isinstance(segment, TextSegment) and _THINKING_ENDS in segment.text
    ]
    end = thinking_ends[-1] if thinking_ends else 0
    return [
        segment if isinstance(segment, TextSegment) else TextSegment(segment.source) for segment in segments[:end]
    ] + segments[end:]


def _parse_without_delimiters(text: str, names: frozenset[str] | None) -> list[Piece]:
    thinking, end, answer = text.rpartition(_THINKING_ENDS)
    return [TextSegment(thinking + end), *(parse_undelimited(answer, names) or [TextSegment(answer)])]


def _as_tool_call(call: ParsedCall, complete: bool) -> ToolCall:
    call_id = new_id("call")
    return ToolCall(
        name=call.name,
        arguments=json.dumps(call.args, ensure_ascii=False),
        id=call_id,
        call_id=call_id,
        error=None if complete else "The reply was cut off before it was complete; its calls do not run.",
        runnable=complete,
        repaired=call.all_repairs,
    )
