"""One event as a row of the journal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a chat, as JSON; `at` is seconds since the epoch."""

    at: float
    chat_id: str
    turn_id: str
    kind: str
    body: str
