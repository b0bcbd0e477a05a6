from __future__ import annotations

import pytest

from nbtool.chain.hooks import ReplyContext, TurnContext
from nbtool.chain.limits import ROUNDS_CEILING, CancelSignal, Limits, Meter
from nbtool.errors import BadUsage
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import ToolResult, Usage, results, user
from nbtool.testing import call
from tests.chain.running import run


class Answering:
    """Answers every call with a word."""

    async def on_after_request(self, reply: ReplyContext) -> None:
        if calls := reply.reply.calls:
            await reply.append_and_request(results(*(ToolResult(c.name, "ok", c.id, c.call_id) for c in calls)))


def costly(tokens: int, cost: float | None = None) -> list[object]:
    return [call("look"), UsageDelta(Usage(tokens, 0, cost=cost)), ReplyEnd("tools", "tool_calls")]


@pytest.mark.promise("bounded")
def test_no_turn_makes_more_rounds_than_the_ceiling_whatever_was_asked() -> None:
    assert Limits(max_rounds=10_000).max_rounds == ROUNDS_CEILING == 256


@pytest.mark.parametrize("name", ["max_rounds", "max_calls", "seconds", "tokens", "cost"])
def test_a_limit_of_nothing_makes_no_sense(name: str) -> None:
    with pytest.raises(BadUsage, match=f"{name} must be greater than 0"):
        Limits(**{name: 0})


@pytest.mark.promise("bounded")
def test_tokens_that_are_used_up_end_the_rounds_with_a_last_word() -> None:
    ran = run([costly(60), costly(60), "Enough."], Answering(), limits=Limits(tokens=100))

    assert "budget of 100 tokens" in ran.wire.prompts[-1].messages[-1].text
    assert (ran.outcome.status, ran.outcome.text) == ("completed", "Enough.")


def test_money_that_is_used_up_ends_the_rounds_with_a_last_word() -> None:
    ran = run([costly(1, 0.04), costly(1, 0.04), "Enough."], Answering(), limits=Limits(cost=0.05))

    assert "budget of 0.05 USD" in ran.wire.prompts[-1].messages[-1].text


def test_a_signal_is_set_once_and_tells_its_first_reason() -> None:
    signal = CancelSignal()

    signal.cancel("first")
    signal.cancel("second")

    assert (signal.is_set, signal.reason) == (True, "first")


def test_a_turn_that_has_not_begun_knows_of_no_server_and_no_text() -> None:
    limits = Limits()

    async def emit(_: object) -> None: ...

    context = TurnContext("turn_1", user("Hi"), (), limits, emit, CancelSignal(), Meter(limits))

    assert (context.status, context.host, context.model, context.dialect, context.text) == ("running", "", "", "", "")
    assert (context.abilities, context.chain, context.state) == (frozenset(), [], {})
