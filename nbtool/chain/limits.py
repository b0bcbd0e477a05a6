"""The limits of a turn, what it has used of them, and its cancellation."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nbtool.errors import BadUsage, LimitReached
from nbtool.events import EndReason
from nbtool.messages import Usage

MAX_ROUNDS = 256
"""The upper bound of `max_rounds`; a higher value is reduced to it."""

HOOK_SECONDS = 60.0
"""Time limit of one call of a hook, unless the plugin sets `hook_seconds`."""

HOOK_STOP_SECONDS = 1.0
"""Seconds that a stopped hook has to end; then it is abandoned."""

END_SECONDS = 10.0
"""Seconds that each hook and clean-up may take at the end of a turn."""

STOPPED_END_SECONDS = 3.0
"""Seconds that all hooks and clean-ups at the end of a stopped or timed-out turn may take together."""

MIN_SECONDS = 0.2
"""Minimum time for each hook or clean-up at the end of a turn, however late it is."""

DRAIN_SECONDS = 3.0
"""Seconds that a stopped turn waits for its own tasks before it abandons them."""

MAX_REPEATED_BATCHES = 3
"""A batch of calls with the same arguments and results that is repeated this often counts as a loop."""

RAISE_BUDGET = "To continue: `%%chat --resume` with a larger `--budget`."

REPORTS_COST = "reports_cost"
"""The ability of a provider whose replies report their cost in US dollars."""


@dataclass(frozen=True, slots=True)
class HookSeconds:
    """The time limits of hooks and clean-ups, and of tasks that are stopped; each is described with its default."""

    call: float = HOOK_SECONDS
    stop: float = HOOK_STOP_SECONDS
    end: float = END_SECONDS
    stopped_end: float = STOPPED_END_SECONDS
    minimum: float = MIN_SECONDS
    drain: float = DRAIN_SECONDS


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one turn; None means no limit of that kind.

    `max_rounds` counts requests to the model, including the one for a final reply; `seconds` is for the whole turn,
    `tokens` for input and output together, `cost` in US dollars, for models whose price is known. Once tokens or cost
    are spent no further request is made, not even for a final reply. `hooks` are the time limits of its plugins.
    """

    max_rounds: int = 10
    max_calls: int = 128
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    hooks: HookSeconds = HookSeconds()

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_calls", "seconds", "tokens", "cost"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise BadUsage(f"{name} must be greater than 0, not {value!r}.")
        object.__setattr__(self, "max_rounds", min(self.max_rounds, MAX_ROUNDS))


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that a turn has reached; `text` describes it for the model and the user, `fix` how to raise a budget."""

    kind: EndReason
    text: str
    fix: str = RAISE_BUDGET


@dataclass(slots=True)
class Meter:
    """What a turn has used so far; `unpriced` counts replies of unknown cost.

    `price_of` computes the cost of a reply in US dollars if the provider does not report it; a plugin may set it.
    `estimate_of` estimates the cost of a request, if the price of the model is known.
    """

    limits: Limits
    rounds: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    unpriced: int = 0
    price_of: Callable[[Usage], float] | None = None
    estimate_of: Callable[[Usage], float] | None = None
    _batches: Counter[str] = field(default_factory=Counter)

    def reached_limit(self) -> ReachedLimit | None:
        """Return the limit after which only a final reply may follow; None if none is reached."""
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
        """Whether one more request may be made after a final reply was requested."""
        return self.rounds < self.limits.max_rounds and self.exceeded_budget() is None

    def exceeded_budget(self) -> ReachedLimit | None:
        """Return the budget that is spent, with the amount; None if no budget is spent."""
        limits, usage = self.limits, self.usage
        if limits.tokens is not None and usage.total_tokens >= limits.tokens:
            amount = f"{usage.total_tokens:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"
            return ReachedLimit("tokens", f"The turn used {amount} of its budget of {limits.tokens:,}.")
        if limits.cost is not None and self.cost >= limits.cost:
            return ReachedLimit("cost", f"The turn used {self.cost:.4g} USD of its budget of {limits.cost:g} USD.")
        if limits.cost is not None and self.unpriced:
            return ReachedLimit(
                "cost", f"A reply did not report its cost, so the budget of {limits.cost:g} USD cannot be checked."
            )
        return None

    def add(self, usage: Usage) -> Usage:
        """Add the usage of a reply, and return it with its cost."""
        if self.price_of and usage.total_tokens and (usage.cost is None or usage.is_cost_estimated):
            usage = replace(usage, cost=self.price_of(usage), is_cost_estimated=True, is_cost_unknown=False)
        self.usage += usage
        self.unpriced += usage.cost is None
        return usage

    @property
    def cost(self) -> float:
        """The cost of the turn in US dollars: reported by the provider, or else computed from its tokens."""
        return self.usage.cost or 0.0

    def remaining_calls(self) -> int:
        """Return how many more calls may run."""
        return max(0, self.limits.max_calls - self.calls)

    def record_batch(self, digest: str) -> None:
        """Count a finished batch of calls, by a digest of its calls and results."""
        self._batches[digest] += 1

    @property
    def seconds(self) -> float:
        """How long the turn has lasted."""
        return time.monotonic() - self.started


def budget_error(reached: ReachedLimit) -> LimitReached:
    """Return the error that ends a turn whose budget is spent."""
    return LimitReached(f"{reached.text} No further request was sent.", fix=reached.fix)


def require_known_cost(
    limits: Limits, abilities: frozenset[str], model: str, *, provider: str = "", is_priced: bool = False
) -> None:
    """Reject a budget in US dollars that cannot be measured.

    Raises:
        BadUsage: the provider does not report the cost of a reply, and the price of the model is unknown.
    """
    if limits.cost is None or is_priced or REPORTS_COST in abilities:
        return
    example = price_example(model_id(provider, model), limits.cost)
    raise BadUsage(
        f"A budget of {limits.cost:g} USD cannot be checked: the price of {model} is unknown. Nothing was sent.",
        fix=f"Set it in tokens (`--budget 20000`), or pass the price. {example}",
    )


def model_id(provider: str, model: str) -> str:
    """Return a model's name with its provider, if that has a name, as `-m` takes it."""
    return f"{provider}:{model}" if provider else model


def price_example(model: str, usd: float = 1) -> str:
    """Return how to pass the price of a model."""
    return (
        "Prices are US dollars per million tokens, for example: `from nbtool.plugins import Budget, Price` and "
        f"`Chat(plugins=[Budget(usd={usd:g}, prices={{{model!r}: Price(input=0.25, output=2.00)}})])`."
    )


class CancelSignal:
    """The cancellation signal of a turn; set once, from any thread.

    Only this signal says whether a turn was cancelled, not the type of an exception.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._listeners: list[Callable[[], object]] = []
        self._set = False

    @property
    def is_set(self) -> bool:
        """Whether the turn was stopped."""
        return self._set

    def cancel(self, reason: str = "stopped by the person") -> None:
        """Stop the turn; a second call has no effect."""
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
