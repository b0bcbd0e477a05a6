"""What a turn came to: its counts and its messages."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.messages import Message


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a turn; `seconds` is its total duration, including the time it waited for decisions."""

    rounds: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Messages:
    """A turn's native messages: the context before it, the chain that it added, and both."""

    context: tuple[Message, ...] = ()
    chain: tuple[Message, ...] = ()

    @property
    def complete(self) -> tuple[Message, ...]:
        """Context and chain."""
        return self.context + self.chain
