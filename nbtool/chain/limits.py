"""How far a turn may go, and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from nbtool.errors import BadUsage, LimitReached
from nbtool.events import EndReason
from nbtool.messages import Usage

MAX_ROUNDS = 256
"""No turn makes more requests than this, whatever was asked for."""

HOOK_SECONDS = 60.0
"""Seconds that one call of a plugin's hook may take, unless the plugin says otherwise."""

HOOK_STOP_SECONDS = 1.0
"""Seconds in which a hook ends once it was stopped; then it is left behind."""

END_SECONDS = 10.0
"""Seconds that each hook and clean-up may take at the end of a turn."""

STOPPED_END_SECONDS = 3.0
"""Seconds that all hooks and clean-ups at the end of a turn may take once it was stopped or ran out of time."""

MIN_SECONDS = 0.2
"""Seconds that a hook or clean-up at the end of a turn has, however late it is."""

MAX_REPEATED_BATCHES = 3
"""A batch of calls that came with the same arguments and the same results this often is a loop."""

REPORTS_COST = "reports_cost"
"""The ability of a provider whose replies say what they cost in US dollars."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one turn; None means no bound of that kind.

    `max_rounds` counts requests to the model, the one for a last word among them; `seconds` is for the whole turn,
    `tokens` for input and output together, `cost` in US dollars, which only a provider that names them can be held to.
    Once tokens or cost are spent no further request is made, not even for a last word.
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
        object.__setattr__(self, "max_rounds", min(self.max_rounds, MAX_ROUNDS))


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that a turn has reached; `text` names it for the model and the person."""

    kind: EndReason
    text: str


@dataclass(slots=True)
class Meter:
    """What a turn has used so far; `unpriced` counts replies that did not say what they cost.

    `price_of` gives the US dollars of a reply where the provider does not name them; a plugin may set it. `priced` is
    what it made so far.
    """

    limits: Limits
    rounds: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    unpriced: int = 0
    price_of: Callable[[Usage], float] | None = None
    priced: float = 0.0
    _batches: Counter[str] = field(default_factory=Counter)

    def reached_limit(self) -> ReachedLimit | None:
        """Say which limit lets the model only have a last word now; None while there is none."""
        limits = self.limits
        if self.rounds >= limits.max_rounds - 1:
            count = "1 round" if limits.max_rounds == 1 else f"{limits.max_rounds} rounds"
            return ReachedLimit("rounds", f"the limit of {count} was reached")
        if self.calls >= limits.max_calls:
            return ReachedLimit("calls", f"the limit of {limits.max_calls} tool calls was reached")
        if self._batches and max(self._batches.values()) >= MAX_REPEATED_BATCHES:
            return ReachedLimit("repetition", f"the same calls gave the same results {MAX_REPEATED_BATCHES} times")
        return None

    def can_request(self) -> bool:
        """Whether one more request may be made after a last word was asked for."""
        return self.rounds < self.limits.max_rounds and self.exceeded_budget() is None

    def exceeded_budget(self) -> ReachedLimit | None:
        """Return the budget that allows no further request, with what was spent of it; None while there is none."""
        limits, usage = self.limits, self.usage
        if limits.tokens is not None and usage.total_tokens >= limits.tokens:
            amount = f"{usage.total_tokens:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"
            return ReachedLimit("tokens", f"The turn spent {amount} of its budget of {limits.tokens:,}.")
        if limits.cost is not None and self.cost >= limits.cost:
            return ReachedLimit("cost", f"The turn spent {self.cost:.4g} USD of its budget of {limits.cost:g} USD.")
        if limits.cost is not None and self.unpriced:
            return ReachedLimit(
                "cost", f"A reply did not say what it cost, so the budget of {limits.cost:g} USD is unsure."
            )
        return None

    def add(self, usage: Usage) -> None:
        """Count what a reply used."""
        self.usage += usage
        if usage.cost is None and usage.total_tokens and self.price_of:
            self.priced += self.price_of(usage)
        else:
            self.unpriced += usage.cost is None

    @property
    def cost(self) -> float:
        """Return the US dollars that the turn spent: what the provider named, and what its tokens cost otherwise."""
        return (self.usage.cost or 0.0) + self.priced

    def remaining_calls(self) -> int:
        """How many more calls may run."""
        return max(0, self.limits.max_calls - self.calls)

    def record_batch(self, digest: str) -> None:
        """Remember a finished batch of calls, by a fingerprint of its calls and results."""
        self._batches[digest] += 1

    @property
    def seconds(self) -> float:
        """How long the turn has lasted."""
        return time.monotonic() - self.started


def budget_error(reached: ReachedLimit) -> LimitReached:
    """Return the error that ends a turn whose budget is spent."""
    return LimitReached(
        f"{reached.text} Nothing more was sent.",
        fix="To go on from here: `%%chat --resume` with a larger `--budget`.",
    )


def require_known_cost(limits: Limits, abilities: frozenset[str], model: str, *, is_priced: bool = False) -> None:
    """Refuse a budget in US dollars that nothing could measure.

    Raises:
        BadUsage: the provider does not say what a reply costs.
    """
    if limits.cost is None or is_priced or REPORTS_COST in abilities:
        return
    raise BadUsage(
        f"A budget of {limits.cost:g} USD cannot be kept: {model} does not say what a reply costs. Nothing was sent.",
        fix=f"Give it in tokens (`--budget 20000`), or name the price: Chat(plugins=[Budget(usd={limits.cost:g},"
        f" prices={{{model!r}: Price(input, output)}})]).",
    )


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
