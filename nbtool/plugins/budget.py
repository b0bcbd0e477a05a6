"""A budget for all turns of a chat, with an approval before more is spent.

`Limits` applies to one turn and ends it with a final reply (`nbtool/chain/usage_meter.py`). A budget applies to all
turns: once it is spent, the next request needs an approval. It is checked between requests, so one request may exceed
it; requests at the same time are estimated, and wait for each other where they might exceed it together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf
from typing import Annotated, Any, ClassVar

from nbtool.annotation_kinds import CHECKED_INSIDE, NOT_NEGATIVE, POSITIVE, Count
from nbtool.argument_check import check_arguments, check_value
from nbtool.chain.hooks import Cleanup, ReplyContext, RequestContext, TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.price_check import model_id, require_known_cost
from nbtool.chain.request_size import text_size
from nbtool.chain.usage_meter import CountedReply, raise_budget
from nbtool.errors import BadUsage, LimitReached
from nbtool.events import BY_NOBODY, CallDecided, CallFinished, CallStatus
from nbtool.ids import new_id
from nbtool.messages import Usage
from nbtool.text import count_of
from nbtool.tools.approval import Approver, AskFunction, Denied
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables

MILLION = 1_000_000

CHARS_PER_TOKEN = 3
"""Characters for which a request is assumed to use a token: few, so that the estimate is rather too high."""

SMALL_COST = 0.001
"""Dollars below which a cost is shown by its first two digits that are not 0, and not by four decimals."""

APPROVE_MORE = "Approve more when asked."

EXPECTED_OUTPUT = 1_000
"""Tokens of output that a request is assumed to use at least; more, once a reply was larger."""


@check_arguments
@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; tokens without a price of their own cost as much as other input or output."""

    input: Annotated[float, NOT_NEGATIVE]
    output: Annotated[float, NOT_NEGATIVE]
    cached: Annotated[float, NOT_NEGATIVE] | None = None
    cache_write: Annotated[float, NOT_NEGATIVE] | None = None
    input_audio: Annotated[float, NOT_NEGATIVE] | None = None
    output_audio: Annotated[float, NOT_NEGATIVE] | None = None

    def cost_of(self, usage: Usage) -> float:
        """Return the cost of `usage` in US dollars; what was cached or written to the cache has that price."""
        counts = usage.bounded()
        cached_audio = 0 if self.cached is None else counts.cached_audio_tokens
        uncached_audio = min(
            counts.input_audio_tokens - cached_audio,
            counts.input_tokens - counts.cached_tokens - counts.cache_write_tokens,
        )
        special = (
            (counts.cached_tokens, self.cached, self.input),
            (counts.cache_write_tokens, self.cache_write, self.input),
            (uncached_audio, self.input_audio, self.input),
            (counts.output_audio_tokens, self.output_audio, self.output),
        )
        plain = counts.input_tokens * self.input + counts.output_tokens * self.output
        return (plain + sum(n * (own - other) for n, own, other in special if own is not None)) / MILLION


@dataclass(frozen=True, slots=True)
class GivenPrices:
    """Computes the cost of turns from `prices` by model, as a `Budget` does, without a limit."""

    runs_on_loop: ClassVar[bool] = True

    prices: Mapping[str, Price]

    def on_turn_start(self, turn: TurnContext) -> None:
        """Have the meter of the turn use the price of its model, if that is given."""
        if cost_of := given_cost_function(self.prices, turn.model, turn.provider):
            turn.meter.price_of = cost_of


def given_cost_function(prices: Mapping[str, Price], model: str, provider: str) -> Callable[[Usage], float] | None:
    """Return the function that computes the cost of a reply of a model; None if no price of it is given.

    A part of it that another model used has that one's price, if that is given too.
    """
    asked = find_given_price(prices, model, provider)
    if asked is None:
        return None

    def cost_of(usage: Usage) -> float:
        parts = ((part, find_given_price(prices, part.model, provider) or asked) for part in usage.parts())
        return sum(price.cost_of(part) for part, price in parts)

    return cost_of


def find_given_price(prices: Mapping[str, Price], model: str, provider: str) -> Price | None:
    """Return the price of a model: by `provider:model`, or the name alone; None if it is not given."""
    return prices.get(model_id(provider, model)) or prices.get(model)


@check_arguments
@dataclass(slots=True)
class Budget:
    """Stops a chat that has spent its tokens or US dollars, until the same amount is approved again.

        Chat(plugins=[Budget(usd=0.50, prices={"openai:gpt-5-mini": Price(0.25, 2.00, cached=0.025)})])

    The cost is the one that the provider reports, else it is computed: from `prices` by model (`provider:model`, or
    the name alone), in US dollars per million tokens, or from the price of the model where it is known; with none of
    them, a budget in dollars rejects the model. `ask` decides (an approver, or a
    function of one question); without it the turn's own approver and approval queue do, as for calls. If no decision
    can be obtained, the turn ends with `LimitReached`. A reply of unknown usage or price needs an approval too. The
    reported usage of an incomplete reply counts.
    """

    hook_seconds: ClassVar[float | None] = None  # it waits for a person
    runs_on_loop: ClassVar[bool] = True

    tokens: Annotated[Count, CHECKED_INSIDE] | None = None
    usd: Annotated[float, POSITIVE, CHECKED_INSIDE] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    ask: Approver | AskFunction | None = None
    spent: Usage = field(default_factory=Usage, init=False)
    cost: float = field(default=0.0, init=False)
    fix: str = field(default="", init=False, repr=False)
    _limits: tuple[float, float] = field(init=False, repr=False)
    _unpriced: int = field(default=0, init=False, repr=False)
    _reserved: dict[str, tuple[float, float]] = field(default_factory=dict, init=False, repr=False)
    _largest_output: int = field(default=0, init=False, repr=False)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition, init=False, repr=False)

    def __post_init__(self) -> None:
        self.tokens = _checked_amount("tokens", Count | None, self.tokens)
        self.usd = _checked_amount("usd", Annotated[float, POSITIVE] | None, self.usd)
        if self.tokens is None and self.usd is None:
            raise BadUsage("A budget needs tokens or usd.", fix="Budget(usd=0.50)")
        self._raise_limit()

    @property
    def needs_price(self) -> bool:
        """Whether the price of the model has to be known: the budget is in US dollars."""
        return self.usd is not None

    def on_turn_start(self, turn: TurnContext) -> Cleanup:
        """Count the turn when it ends, whatever its status; the price of its model applies to its limits too."""
        if cost_of := given_cost_function(self.prices, turn.model, turn.provider):
            turn.meter.price_of = cost_of

        return partial(self.release, turn)

    async def release(self, turn: TurnContext) -> None:
        """Count what a turn has used that is at its end, and let others use what was reserved for it."""
        async with self._changed:
            self._release(turn)

    async def on_before_request(self, request: RequestContext) -> None:
        """Check the budget before a request, and ask for an approval once it is spent.

        A request waits while others are under way and the rest of the budget may not suffice for it too.

        Raises:
            LimitReached: it was not approved.
            BadUsage: the budget is in dollars, and the price of this model is unknown.
        """
        await self.reserve(request.turn, text_size(request.prompt()))

    async def reserve(self, turn: TurnContext, size: int) -> None:
        """Do what is done before a request of so many characters; raises as `on_before_request`."""
        self._require_price_of(turn)
        async with self._changed:
            self._release(turn)
            await self._changed.wait_for(lambda: not self._reserved or self._has_room(self._estimate(size, turn)))
            if reason := self._exceeded_reason(turn):
                decision = await self._ask_for_more(reason, turn)
                if decision.verdict != "approved":
                    raise LimitReached(f"{reason} No further request was sent.", fix=self.fix or _way_on(decision))
                self._raise_limit()
            self._reserved[turn.turn_id] = self._estimate(size, turn)

    @property
    def room(self) -> tuple[float, float]:
        """The tokens and the US dollars that are left, without what requests under way may use."""
        tokens, dollars = (float(sum(amounts)) for amounts in zip((0.0, 0.0), *self._reserved.values(), strict=True))
        limit_tokens, limit_dollars = self._limits
        return limit_tokens - self.spent.total_tokens - tokens, limit_dollars - self.cost - dollars

    def require_price(self, model: str, abilities: frozenset[str], *, provider: str = "") -> None:
        """Reject a model of unknown price if the budget is in dollars.

        Raises:
            BadUsage: the budget is in dollars, and the price of this model is unknown.
        """
        if self.usd is not None and find_given_price(self.prices, model, provider) is None:
            require_known_cost(Limits(cost=self.usd), abilities, model, provider=provider)

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Count a reply, and let the next request go; one of an earlier version of the turn took no request."""
        await self.count(reply.turn, reply.reply.usage)

    async def count(self, turn: TurnContext, usage: Usage) -> None:
        """Count a reply of this usage, which the meter of its turn has counted."""
        if turn.turn_id not in self._reserved:
            return
        self._largest_output = max(self._largest_output, usage.output_tokens, 1)
        is_priced = self.usd is None or self._cost_of(turn.meter.replies[-1], turn) is not None
        if not (self._is_free(turn) or (usage.total_tokens and is_priced)):
            self._unpriced += 1
        async with self._changed:
            self._release(turn)

    def _estimate(self, size: int, turn: TurnContext) -> tuple[float, float]:
        """Return the tokens and the dollars that a request of so many characters may use, with the largest output."""
        usage = Usage(size // CHARS_PER_TOKEN, max(self._largest_output, EXPECTED_OUTPUT))
        return usage.total_tokens, self._estimated_cost(usage, turn)

    def _estimated_cost(self, usage: Usage, turn: TurnContext) -> float:
        given = given_cost_function(self.prices, turn.model, turn.provider)
        cost_of = given or turn.meter.price_of or turn.meter.estimate_of
        return cost_of(usage) if cost_of else 0.0

    def _require_price_of(self, turn: TurnContext) -> None:
        if not turn.meter.price_of:
            self.require_price(turn.model, turn.abilities, provider=turn.provider)

    def _has_room(self, estimate: tuple[float, float]) -> bool:
        """Whether the budget suffices for a request beside those that are under way; unknown before the first reply."""
        if not self._largest_output:
            return False
        tokens, dollars = (float(sum(amounts)) for amounts in zip(estimate, *self._reserved.values(), strict=True))
        limit_tokens, limit_dollars = self._limits
        return self.spent.total_tokens + tokens <= limit_tokens and self.cost + dollars <= limit_dollars

    def _release(self, turn: TurnContext) -> None:
        """Count what a turn has used, in place of what was reserved for it."""
        self._record(turn)
        if self._reserved.pop(turn.turn_id, None):
            self._changed.notify_all()

    def _record(self, turn: TurnContext) -> None:
        """Add what the turn has used since it was last counted."""
        key = f"budget {id(self)}"
        counted = turn.state.get(key, 0)
        turn.state[key] = len(turn.meter.replies)
        for reply in turn.meter.replies[counted:]:
            self.spent += reply.priced
            self.cost += self._cost_of(reply, turn) or 0.0

    def _cost_of(self, reply: CountedReply, turn: TurnContext) -> float | None:
        """Return the cost of a reply: the reported one, else by the prices of this budget, else as the meter has it."""
        given = given_cost_function(self.prices, turn.model, turn.provider)
        is_reported = reply.reported.cost is not None and not reply.reported.is_cost_estimated
        cost = reply.priced.cost if is_reported or given is None else given(reply.reported)
        return 0.0 if cost is None and turn.meter.is_free else cost

    def _raise_limit(self) -> None:
        """Allow the same amount again, from the current totals."""
        self._unpriced = 0
        self._limits = self.spent.total_tokens + (self.tokens or inf), self.cost + (self.usd or inf)

    def _is_free(self, turn: TurnContext) -> bool:
        """Whether the requests of a turn cost nothing, by any price, and nothing else of this budget limits them."""
        has_price = given_cost_function(self.prices, turn.model, turn.provider) or turn.meter.price_of
        return turn.meter.is_free and not has_price and not turn.meter.estimate_of and self.tokens is None

    def _exceeded_reason(self, turn: TurnContext) -> str:
        """Return why the budget is spent; empty if it is not, or a turn costs nothing."""
        tokens, dollars = self._limits
        if self._is_free(turn):
            return ""
        if self.spent.total_tokens >= tokens:
            return (
                f"The budget of {count_of(self.tokens or 0, 'token')} is used up: {self.spent.total_tokens:,} in total."
            )
        if self.cost >= dollars:
            cost = f"{self.cost:.4f}" if self.cost >= SMALL_COST else f"{self.cost:.2g}"
            return f"The budget of {self.usd:g} USD is used up: {cost} USD in total."
        if self._unpriced:
            unknown = "cost of the last reply is unknown (no usage or no price)"
            if self.usd is None:
                unknown = "usage of the last reply is unknown (the server did not report it)"
            return f"The {unknown}, so the budget cannot be checked."
        return ""

    async def _ask_for_more(self, reason: str, turn: TurnContext) -> CallDecided:
        """Ask for an approval as for a sensitive call, and close its row in the view."""
        service = turn.approvals or ToolRuntime(Toolset("none", []), Variables(), turn.emit)
        call_id, text = new_id("budget"), f"{reason} Allow the same amount again?"
        decision = await service.request_approval(
            call_id, "budget", text, description="Spend more than the budget.", approver=self.ask
        )
        status: CallStatus = "ok" if decision.verdict == "approved" else "denied"
        await turn.emit(CallFinished(call_id, "budget", turn.meter.rounds, status, reason, reason=decision.reason))
        return decision


def _checked_amount(name: str, annotation: Any, amount: Any) -> Any:
    """Return an amount of a budget as the annotated type.

    Raises:
        BadUsage: it is of another form; if that is one of dollars, the fix names them.
    """
    try:
        return check_value("Budget", name, annotation, amount)
    except BadUsage as error:
        if not (dollars := _dollars_in(amount)) or (name == "usd" and not isinstance(amount, str)):
            raise
        raise BadUsage(error.message, fix=f"{error.fix} Dollars are `Budget(usd={dollars:g})`.") from None


def _dollars_in(amount: object) -> float:
    """Return the dollars that an amount stands for: a text with their sign, or a fraction of a token; 0 for none."""
    if isinstance(amount, str) and amount.startswith("$"):
        with suppress(ValueError):
            dollars = float(amount[1:].replace(",", ""))
            return dollars if 0 < dollars < inf else 0.0
    return amount if isinstance(amount, float) and amount > 0 and amount % 1 > 0 else 0.0


def _way_on(decision: CallDecided) -> str:
    """Return how to go on after a budget was not raised; of one that nobody could be asked about, what to change."""
    if decision.by != BY_NOBODY:
        return APPROVE_MORE
    return f"{decision.reason} Or give the chat a new budget with a larger amount."


def shared_budget(limits: Limits, turn_id: str) -> Budget | None:
    """Return the budget of a turn and of the sub-chats that its tools ask, together; None without a limit on either.

    It asks for no approval: the turn ends.
    """
    if limits.tokens is None and limits.cost is None:
        return None
    tokens = None if limits.tokens is None else ceil(limits.tokens)
    budget = Budget(tokens=tokens, usd=limits.cost, ask=lambda _: Denied("the budget of the turn is used up"))
    budget.fix = raise_budget(turn_id)
    return budget
