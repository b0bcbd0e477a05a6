"""The budget of the administrator's policy: one for all chats of a kernel, which nobody can raise.

It counts at the policy's own prices, else at those of the price lists for the host. A price that a user gives counts
only where it is higher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from nbtool.chain.hooks import TurnContext
from nbtool.chain.usage_meter import CountedReply
from nbtool.errors import BadUsage
from nbtool.messages import Usage
from nbtool.plugins.budget import Budget, Price
from nbtool.policy import site_policy
from nbtool.tools.approval import Denied

if TYPE_CHECKING:
    from nbtool.policy.rules import PriceRule

SERVED = "nbtool.mcp_server."
"""The module of the endpoints of served clients, which ask no model."""

NO_MORE = "the policy {path} allows no more in one kernel"
ENDED = "Ask your administrator; the amount is counted from the start of the kernel."
NO_PRICE_FIX = (
    "Choose another model, or ask your administrator for its price: `[budget.prices]` with "
    "`{name!r} = {{ input = 0.25, output = 2.0 }}`."
)


@dataclass(slots=True)
class SiteBudget(Budget):
    """A budget at prices that no user sets."""

    needs_listed_price: ClassVar[bool] = True

    def _require_price_of(self, turn: TurnContext) -> None:
        """Reject a model of which neither the policy nor the price lists of its host know the price.

        Raises:
            BadUsage: its price is unknown, and the budget is in dollars.
        """
        rules = site_policy().prices(turn.host, turn.model)
        if self.usd is not None and turn.meter.listed_price_of is None and (None in rules or not rules):
            usd, path = site_policy().budget("usd") or (self.usd, "")
            raise BadUsage(
                f"The policy {path} allows {usd:g} USD, and the price of {turn.model} at {turn.host} is unknown to it. "
                "Nothing was sent.",
                fix=NO_PRICE_FIX.format(name=f"{turn.host}/{turn.model}"),
            )

    def _is_free(self, turn: TurnContext) -> bool:  # noqa: ARG002 - no setting of a user says what costs nothing
        return False

    def listed_cost_function(self, host: str, model: str) -> Callable[[Usage], float] | None:
        """Return what a reply of a model costs at the policy's own prices, the highest of its files; None without."""
        prices = [Price(**rule.model_dump()) for rule in site_policy().prices(host, model) if rule]
        return (lambda usage: max(price.cost_of(usage) for price in prices)) if prices else None

    def _estimated_cost(self, usage: Usage, turn: TurnContext) -> float:
        return self._site_cost(usage, turn) or 0.0

    def _cost_of(self, reply: CountedReply, turn: TurnContext) -> float | None:
        cost = self._site_cost(reply.reported, turn)
        return None if cost is None else max(cost, reply.priced.cost or 0.0)

    def _site_cost(self, usage: Usage, turn: TurnContext) -> float | None:
        """Return the cost of a reply by the strictest policy file; None if one of them knows no price of it."""
        asked = site_policy().prices(turn.host, turn.model)
        costs = [_file_cost(number, rule, usage, turn) for number, rule in enumerate(asked)]
        known = [cost for cost in costs if cost is not None]
        return max(known) if known and len(known) == len(costs) else None


def _file_cost(number: int, asked: PriceRule | None, usage: Usage, turn: TurnContext) -> float | None:
    """Return the cost by one policy file: at its prices, if it has one of the model, else at the listed ones."""
    if asked is None:
        return turn.meter.listed_price_of(usage) if turn.meter.listed_price_of else None
    total = 0.0
    for part in usage.parts():
        rule = site_policy().prices(turn.host, part.model)[number] if part.model else None
        total += Price(**(rule or asked).model_dump()).cost_of(part)
    return total


@cache
def site_budget() -> SiteBudget | None:
    """Return the budget of this process; None if no policy sets one."""
    policy = site_policy()
    usd, tokens = policy.budget("usd"), policy.budget("tokens")
    if not (usd or tokens):
        return None
    refusal = Denied(NO_MORE.format(path=" and ".join(dict.fromkeys(pair[1] for pair in (usd, tokens) if pair))))
    limit = SiteBudget(tokens=int(tokens[0]) if tokens else None, usd=usd[0] if usd else None, ask=lambda _: refusal)
    limit.fix = f"{refusal.reason[0].upper()}{refusal.reason[1:]}. {ENDED}"
    return limit


def is_limited(endpoint: object) -> bool:
    """Whether requests to an endpoint count: not those to a model in this process, or of a served client."""
    native = getattr(endpoint, "native", endpoint)
    url = getattr(native, "base_url", None)
    if isinstance(url, str):
        return not site_policy().is_own_server(url)
    return not type(endpoint).__module__.startswith(SERVED)
