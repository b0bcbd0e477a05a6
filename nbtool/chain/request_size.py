"""The size of a request, and whether a turn's budget allows it."""

from __future__ import annotations

from nbtool.chain.usage_meter import Meter, ReachedLimit
from nbtool.messages import Part, Text, ToolCall, ToolResult, Usage
from nbtool.text import count_of
from nbtool.wire.base import Prompt

CHARS_PER_TOKEN = 4
"""Characters for which a request is assumed to use a token, as in English text."""

EXPECTED_OUTPUT = 1_000
"""Tokens of output that a suggested budget leaves for the reply."""


def text_size(prompt: Prompt) -> int:
    """Return the characters of a request, as far as it is text."""
    parts = sum(_part_size(part) for message in prompt.messages for part in message.parts)
    return (
        len(prompt.system)
        + parts
        + sum(len(str(dict(spec.parameters))) for spec in prompt.tools if not spec.is_deferred)
    )


def exceeds_budget(prompt: Prompt, meter: Meter) -> ReachedLimit | None:
    """Return the budget that a request alone would exceed, with its estimated size; None if there is room for it."""
    limits = meter.limits
    if limits.tokens is None and limits.cost is None:
        return None  # measuring a request with hundreds of tools takes longer than sending it
    tokens = text_size(prompt) // CHARS_PER_TOKEN
    total = meter.usage.total_tokens + tokens
    if limits.tokens is not None and total > limits.tokens:
        left = _left(f"{limits.tokens - meter.usage.total_tokens:,}", f"{limits.tokens:,}")
        fix = f"`--budget {_rounded_up(total + EXPECTED_OUTPUT)}` leaves room for a reply."
        return ReachedLimit("tokens", f"A request of about {count_of(tokens, 'token')} was not sent: {left}.", fix)
    cost_of = meter.price_of or meter.estimate_of
    if limits.cost is not None and cost_of and meter.cost + (cost := cost_of(Usage(tokens))) > limits.cost:
        left = _left(f"{limits.cost - meter.cost:.4g} USD", f"{limits.cost:g} USD")
        return ReachedLimit("cost", f"A request of about {cost:.4g} USD was not sent: {left}.")
    return None


def _left(left: str, budget: str) -> str:
    return f"the turn's budget is {budget}" if left == budget else f"{left} of the turn's budget of {budget} are left"


def _rounded_up(tokens: int) -> int:
    return -(-tokens // EXPECTED_OUTPUT) * EXPECTED_OUTPUT


def _part_size(part: Part) -> int:
    match part:
        case Text() | ToolResult():
            return len(part.text)
        case ToolCall():
            return len(part.arguments)
        case _:
            return 0
