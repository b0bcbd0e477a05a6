"""The parts of a finished reply as deltas, for a listener that did not see it arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nbtool.events import (
    CallDelta,
    Event,
    MediaDelta,
    ProviderDelta,
    RefusalDelta,
    ReplyFinished,
    TextDelta,
    ThinkingDelta,
)
from nbtool.messages import Citation, Media, Message, ProviderCall, Refusal, Text, Thinking, ToolCall


def reply_deltas(message: Message, *, has_calls: bool = False) -> Iterator[Event]:
    """Yield the texts and media of a reply, each as one delta; with `has_calls` also its calls."""
    for part in message.parts:
        match part:
            case Text():
                yield TextDelta(part.text, phase=part.phase)
            case Thinking():
                yield ThinkingDelta(part.text)
            case Refusal():
                yield RefusalDelta(part.text)
            case Media():
                yield MediaDelta(part)
            case ProviderCall() | Citation():
                yield ProviderDelta(part)
            case ToolCall() if has_calls:
                yield CallDelta(part.call_id, part.id, part.name, part.arguments, True, part.repaired, part.call_id)
            case _:
                pass


def with_deltas(log: Iterable[Event]) -> Iterator[Event]:
    """Yield these events, each finished reply after its deltas."""
    for event in log:
        if isinstance(event, ReplyFinished):
            yield from reply_deltas(event.message)
        yield event
