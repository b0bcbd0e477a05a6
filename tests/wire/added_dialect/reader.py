"""The replies of the dialect *lines*: events that say something, call a tool, or end the reply."""

from __future__ import annotations

from typing import Any

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.framing.provider_errors import provider_error


class LinesReader(StreamReader):
    """Reads one reply."""

    dialect = "lines"
    kinds = frozenset({"say", "call", "end"})

    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        for event in document["events"]:
            self._decode_event(event["type"], event, deltas)

    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        if kind == "say":
            deltas.append(TextDelta(str(event["text"])))
        elif kind == "call":
            deltas.append(CallDelta(event["id"], event["id"], event["name"], event["arguments"], final=True))
        elif kind == "end":
            deltas.append(ReplyEnd("tools" if event.get("calls") else "end", kind))
            self._is_finished = True
        elif event.get("error"):
            raise provider_error(event)

    def _finish(self, deltas: list[Delta]) -> None:
        """End the reply; this dialect has an event for it."""
