"""A budget for everything a chat spends, and a person who is asked before more is spent.

`Limits` bounds one turn and ends it with a last word. A budget goes over all turns, asks before the next request, and
lets nothing leave unless somebody says yes. It is looked at between requests, so one request may overdraw it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from typing import ClassVar

from nbtool.chain.hooks import Cleanup, ReplyContext, RequestContext, TurnContext
from nbtool.chain.limits import Limits, require_known_cost
from nbtool.errors import BadUsage, LimitReached
from nbtool.events import CallFinished, CallStatus
from nbtool.loop import LentThread
from nbtool.messages import Usage, new_id
from nbtool.plugins.tools import BENCH
from nbtool.tools.approval import Approver, AskFunction, Desk, Question
from nbtool.tools.calls.gates import announce, rule
from nbtool.tools.calls.run import Bench

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; `cached` input costs as much as other input where nothing is said."""

    input: float
    output: float
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """Give the cost of some usage."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        return (fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output) / MILLION


@dataclass(slots=True)
class Budget:
    """Stops a chat that has spent its tokens or US dollars, until somebody allows as much again.

        Chat(plugins=[Budget(usd=0.50, prices={"gpt-5-mini": Price(0.25, 2.00, cached=0.025)})])

    A cost that the provider names counts; where it names none, `prices` by model tell it, and a model that has neither
    is not asked for dollars. `ask` decides (an approver,
    or a function of one question); without it the turn's own approver and desk do, as for calls. Where nobody can be
    asked the answer is no, and the turn ends with `LimitReached`. A reply whose usage or price is unknown is asked
    about too. What a reply cost that was stopped or broke off counts as far as it was reported.
    """

    hook_seconds: ClassVar[float | None] = None  # it waits for a person
    runs_on_loop: ClassVar[bool] = True

    tokens: int | None = None
    usd: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    ask: Approver | AskFunction | None = None
    spent: Usage = field(default_factory=Usage, init=False)
    cost: float = field(default=0.0, init=False)
    _until: tuple[float, float] = field(init=False, repr=False)
    _unknown: int = field(default=0, init=False, repr=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.tokens is None and self.usd is None:
            raise BadUsage("A budget needs tokens or usd.", fix="Budget(usd=0.50)")
        for name, value in (("tokens", self.tokens), ("usd", self.usd)):
            if value is not None and value <= 0:
                raise BadUsage(f"{name} must be greater than 0, not {value!r}.")
        self._allow()

    def on_turn_start(self, turn: TurnContext) -> Cleanup:
        """Count the turn when it has ended, however it ended; the price of its model holds for its own limits too."""
        if price := self.prices.get(turn.model):
            turn.meter.price_of = price.of
        return lambda: self._count(turn)

    async def on_before_request(self, request: RequestContext) -> None:
        """Let a request leave only while something is left of the budget, or somebody allows as much again.

        Raises:
            LimitReached: nobody allowed it.
            BadUsage: the budget is in dollars, and nothing says what this model costs.
        """
        turn = request.turn
        self.require_price(turn.model, turn.abilities)
        async with self._asking:
            self._count(request.turn)
            if reason := self._used_up():
                if not await self._is_allowed(reason, request.turn):
                    raise LimitReached(f"{reason} Nothing more was sent.", fix="Allow more when asked.")
                self._allow()

    def require_price(self, model: str, abilities: frozenset[str]) -> None:
        """Refuse a model whose cost in dollars nothing tells.

        Raises:
            BadUsage: the budget is in dollars, and nothing says what this model costs.
        """
        if self.usd is not None and model not in self.prices:
            require_known_cost(Limits(cost=self.usd), abilities, model)

    def on_after_request(self, reply: ReplyContext) -> None:
        """Take note of a reply that says nothing of what it cost."""
        usage = reply.reply.usage
        if not usage.total_tokens or (self.usd is not None and self._cost_of(usage, reply.turn.model) is None):
            self._unknown += 1

    def _count(self, turn: TurnContext) -> None:
        """Take over what the turn has used since it was counted last."""
        key, now = f"budget {id(self)}", turn.meter.usage
        new = _minus(now, turn.state.get(key, Usage()))
        turn.state[key] = now
        self.spent += new
        self.cost += self._cost_of(new, turn.model) or 0.0

    def _cost_of(self, usage: Usage, model: str) -> float | None:
        price = self.prices.get(model)
        return usage.cost if usage.cost is not None or price is None else price.of(usage)

    def _allow(self) -> None:
        """Allow as much again, from where we are."""
        self._unknown = 0
        self._until = self.spent.total_tokens + (self.tokens or inf), self.cost + (self.usd or inf)

    def _used_up(self) -> str:
        """Say why nothing is left; empty while something is."""
        tokens, dollars = self._until
        if self.spent.total_tokens >= tokens:
            return f"The budget of {self.tokens:,} tokens is used up: {self.spent.total_tokens:,} were spent in all."
        if self.cost >= dollars:
            return f"The budget of {self.usd:g} USD is used up: {self.cost:.4f} USD were spent in all."
        if self._unknown:
            return "What the last reply cost is unknown (no usage or no price), so the budget cannot be kept."
        return ""

    async def _is_allowed(self, reason: str, turn: TurnContext) -> bool:
        """Ask as for a call that is always asked about; its row in the view is closed again."""
        bench: Bench | None = turn.state.get(BENCH)
        call_id, shown = new_id("budget"), f"{reason} Allow as much again?"
        digest = sha256(f"{call_id} {shown}".encode()).hexdigest()
        question = Question(call_id, "run", digest, "budget", shown, "Spend more than the budget.", sensitive=True)
        desk, lent = (bench.desk, bench.lent) if bench else (Desk(), LentThread())
        approver = self.ask or (bench.approver if bench else None)
        ruling = await rule(question, desk=desk, approver=approver, lent=lent, emit=turn.emit)
        decided = await announce(question, ruling, turn.emit)
        is_allowed = decided.verdict == "approved"
        status: CallStatus = "ok" if is_allowed else "denied"
        await turn.emit(CallFinished(call_id, "budget", turn.meter.rounds, status, reason, reason=decided.reason))
        return is_allowed


def _minus(now: Usage, before: Usage) -> Usage:
    return Usage(
        now.input_tokens - before.input_tokens,
        now.output_tokens - before.output_tokens,
        now.cached_tokens - before.cached_tokens,
        now.thinking_tokens - before.thinking_tokens,
        None if now.cost is None else now.cost - (before.cost or 0.0),
    )
