"""One event as a row of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.event_json import dump_data


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a chat: as JSON, or as plain data that shares the event's texts; `at` is seconds since the epoch."""

    at: float
    chat_id: str
    turn_id: str
    kind: str
    content: str | dict[str, Any]

    @property
    def body(self) -> str:
        """The event as JSON."""
        return self.content if isinstance(self.content, str) else dump_data(self.content)

    @property
    def size(self) -> int:
        """The characters of its texts."""
        waiting: list[Any] = [self.content]
        size = 0
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                size += len(value)
            elif isinstance(value, dict):
                waiting += (*value, *value.values())
            elif isinstance(value, list):
                waiting += value
        return size
