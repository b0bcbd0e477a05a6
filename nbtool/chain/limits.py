"""How far a turn may go, and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from nbtool.errors import BadUsage
from nbtool.messages import Usage

ROUNDS_CEILING = 256
"""No turn makes more requests than this, whatever was asked for."""

SAME_BATCHES = 3
"""A batch of calls that came with the same arguments and the same results this often is a loop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one turn; None means no bound of that kind.

    `max_rounds` counts requests to the model, `seconds` the whole turn, `tokens` input and output together,
    `cost` US dollars as far as the provider names them.
    """

    max_rounds: int = 10
    max_calls: int = 128
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_calls", "seconds", "tokens", "cost"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise BadUsage(f"{name} must be greater than 0, not {value!r}.")
        object.__setattr__(self, "max_rounds", min(self.max_rounds, ROUNDS_CEILING))


@dataclass(slots=True)
class Meter:
    """What a turn has used so far."""

    limits: Limits
    rounds: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    _batches: Counter[str] = field(default_factory=Counter)

    def spent(self) -> str:
        """Say which limit is reached, in words for the model and the person; empty while none is."""
        limits = self.limits
        if self.rounds >= limits.max_rounds:
            return f"the limit of {limits.max_rounds} rounds was reached"
        if self.calls >= limits.max_calls:
            return f"the limit of {limits.max_calls} tool calls was reached"
        if limits.tokens is not None and self.usage.total_tokens >= limits.tokens:
            return f"the budget of {limits.tokens} tokens was used up"
        if limits.cost is not None and (self.usage.cost or 0.0) >= limits.cost:
            return f"the budget of {limits.cost:g} USD was used up"
        if self._batches and max(self._batches.values()) >= SAME_BATCHES:
            return f"the same calls gave the same results {SAME_BATCHES} times"
        return ""

    def calls_left(self) -> int:
        """How many more calls may run."""
        return max(0, self.limits.max_calls - self.calls)

    def note_batch(self, fingerprint: str) -> None:
        """Remember a finished batch of calls, by a fingerprint of its calls and results."""
        self._batches[fingerprint] += 1

    @property
    def seconds(self) -> float:
        """How long the turn has lasted."""
        return time.monotonic() - self.started


class CancelSignal:
    """The turn's own word for *stop*; set once, from any thread, and asked by everyone.

    Whether a turn was cancelled is read here and nowhere else: not from the type of an exception.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._listeners: list[Callable[[], object]] = []
        self._set = False

    @property
    def is_set(self) -> bool:
        """Whether somebody stopped the turn."""
        return self._set

    def cancel(self, reason: str = "stopped by the person") -> None:
        """Stop the turn; a second time changes nothing."""
        if self._set:
            return
        self._set, self.reason = True, reason
        for listener in list(self._listeners):
            listener()

    async def wait(self) -> None:
        """Return when the turn is stopped."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        self._listeners.append(lambda: loop.call_soon_threadsafe(stopped.set))
        if not self._set:
            await stopped.wait()
