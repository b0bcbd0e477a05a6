"""What a turn has used of its limits: rounds, calls, tokens and cost, and which limit it has reached.

A budget for all turns of a chat is `nbtool/plugins/budget.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nbtool.chain.limits import MAX_ROUNDS, Limits
from nbtool.clock import monotonic
from nbtool.errors import LimitReached
from nbtool.events import EndReason
from nbtool.ids import short_id
from nbtool.messages import Usage
from nbtool.text import count_of, list_names, shorten

RESUME = "%%chat --rerun {turn}:resume"
"""The cell that continues a turn, which need not be the last one any more when it is read."""

MAX_NAMES = 3
"""Repeated tools that the notice of a limit names."""

MAX_NAME = 64
"""Characters of such a name, which a model may have made up."""


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that a turn has reached; `text` describes it for the model and the user.

    `fix` is what to do about it, empty where that is to raise the budget of the turn.
    `setting` is the setting that raises the limit, if one does.
    """

    kind: EndReason
    text: str
    fix: str = ""
    setting: str = ""


class CountedReply(NamedTuple):
    """The usage of one reply: as the endpoint reported it, and with the cost at the prices that the user gave."""

    reported: Usage
    priced: Usage


@dataclass(slots=True)
class Meter:
    """What a turn has used so far; `unpriced` counts replies of unknown cost.

    `repeats` counts the latest rounds that had the same calls with the same results; `repeated` names their tools.

    `price_of` computes the cost of a reply in US dollars if the provider does not report it; a plugin may set it.
    `estimate_of` estimates the cost of a request, if the price of the model is known. `listed_price_of` computes the
    cost of a reply from the price lists of its host alone, which no setting of the user changes. A reply of unknown
    cost costs nothing if the provider `is_free`.
    """

    limits: Limits
    rounds: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=monotonic)
    unpriced: int = 0
    is_free: bool = False
    price_of: Callable[[Usage], float] | None = None
    estimate_of: Callable[[Usage], float] | None = None
    listed_price_of: Callable[[Usage], float | None] | None = None
    replies: list[CountedReply] = field(default_factory=list)
    repeats: int = 0
    repeated: tuple[str, ...] = ()

    def reached_limit(self) -> ReachedLimit | None:
        """Return the limit after which only a final reply may follow; None if none is reached."""
        limits = self.limits
        if self.rounds >= limits.max_rounds - 1:
            count = count_of(limits.max_rounds, "round")
            setting = "" if limits.max_rounds >= MAX_ROUNDS else "max_rounds"
            return ReachedLimit("rounds", f"the limit of {count} was reached", setting=setting)
        if self.calls >= limits.call_limit:
            text = f"the limit of {count_of(limits.call_limit, 'tool call')} was reached"
            return ReachedLimit("calls", text, setting="max_calls")
        if limits.max_repeats is not None and self.repeats >= limits.max_repeats:
            names = list_names([f"`{shorten(name, MAX_NAME)}`" for name in self.repeated], MAX_NAMES)
            text = f"the same calls ({names}) gave the same results {count_of(self.repeats, 'time')} in a row"
            return ReachedLimit("repetition", text, setting="max_repeats")
        return None

    def can_request(self) -> bool:
        """Whether one more request may be made after a final reply was requested."""
        return self.rounds < self.limits.max_rounds and self.exceeded_budget() is None

    def exceeded_budget(self) -> ReachedLimit | None:
        """Return the budget that is spent, with the amount; None if no budget is spent."""
        limits, usage = self.limits, self.usage
        if limits.tokens is not None and usage.total_tokens >= limits.tokens:
            amount = f"{count_of(usage.total_tokens, 'token')} ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"
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
        reported = usage
        if self.price_of and usage.total_tokens and (usage.cost is None or usage.is_cost_estimated):
            usage = replace(usage, cost=self.price_of(usage), is_cost_estimated=True, is_cost_unknown=False)
        self.replies.append(CountedReply(reported, usage))
        self.usage += usage
        self.unpriced += usage.cost is None and not self.is_free
        return usage

    @property
    def cost(self) -> float:
        """The cost of the turn in US dollars: reported by the provider, or else computed from its tokens."""
        return self.usage.cost or 0.0

    def remaining_calls(self) -> int:
        """Return how many more calls may run."""
        return max(0, self.limits.call_limit - self.calls)

    @property
    def seconds(self) -> float:
        """How long the turn has lasted."""
        return monotonic() - self.started


def resume_cell(turn_id: str) -> str:
    """Return the cell that continues a turn."""
    return RESUME.format(turn=short_id(turn_id))


def raise_budget(turn_id: str) -> str:
    """Return how a turn goes on whose budget is spent."""
    return f"To continue: `{resume_cell(turn_id)}` with a larger `--budget`."


def budget_error(reached: ReachedLimit, turn_id: str) -> LimitReached:
    """Return the error that ends a turn whose budget is spent."""
    return LimitReached(f"{reached.text} No further request was sent.", fix=raise_budget(turn_id))
