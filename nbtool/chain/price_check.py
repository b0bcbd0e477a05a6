"""Whether the price of a model is known, as a budget in US dollars requires."""

from __future__ import annotations

from nbtool.chain.limits import Limits
from nbtool.errors import BadUsage
from nbtool.wire.base import CHARGES_NOTHING
from nbtool.wire.base import REPORTS_COST as REPORTS_COST


def require_known_cost(
    limits: Limits, abilities: frozenset[str], model: str, *, provider: str = "", is_priced: bool = False
) -> None:
    """Reject a budget in US dollars that cannot be measured.

    Raises:
        BadUsage: the provider charges, does not report the cost of a reply, and the price of the model is unknown.
    """
    if limits.cost is None or is_priced or abilities & {REPORTS_COST, CHARGES_NOTHING}:
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
