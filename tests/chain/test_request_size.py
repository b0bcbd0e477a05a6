"""A request that alone exceeds the turn's budget is not sent."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.chain.hooks import ReplyContext, RequestContext, TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.request_size import exceeds_budget, text_size
from nbtool.chain.usage_meter import Meter
from nbtool.errors import LimitReached
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import Media, Message, Text, Thinking, ToolCall, ToolResult, Usage, results, user
from nbtool.testing import call
from nbtool.wire.base import Prompt, ToolSpec
from tests.chain.running import run

LONG = "word " * 2_000


class LongSystem:
    """Adds a long text to every request, as tools and their rules do."""

    def __init__(self, first: int = 1) -> None:
        self.first = first

    def on_before_request(self, request: RequestContext) -> None:
        if request.round >= self.first:
            request.system += LONG

    async def on_after_request(self, reply: ReplyContext) -> None:
        if calls := reply.reply.calls:
            await reply.append_and_request(results(*(ToolResult(one.name, "ok", one.id, one.call_id) for one in calls)))


class Priced:
    """Sets the price of the model, in dollars per token."""

    def on_turn_start(self, turn: TurnContext) -> None:
        turn.meter.price_of = lambda usage: usage.total_tokens / 100


@pytest.mark.promise("bounded")
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (
            Limits(tokens=100),
            "A request of about 2,501 tokens was not sent: the turn's budget is 100."
            " `--budget 4000` leaves room for a reply.",
        ),
        (
            Limits(cost=0.5),
            "A request of about 25.01 USD was not sent: the turn's budget is 0.5 USD."
            " To continue: `%%chat --rerun turn_1:resume` with a larger `--budget`.",
        ),
    ],
    ids=["tokens", "dollars"],
)
def test_a_first_request_above_the_budget_is_not_sent(limits: Limits, expected: str) -> None:
    ran = run(["Hello."], LongSystem(), Priced(), limits=limits, abilities=["reports_cost"])

    assert ran.wire.prompts == []
    assert isinstance(ran.outcome.error, LimitReached)
    assert str(ran.outcome.error) == expected
    assert ran.outcome.end_reason == ("tokens" if limits.tokens else "cost")
    assert ran.of("request_started") == []


@pytest.mark.promise("bounded")
def test_a_later_request_above_the_rest_of_the_budget_is_not_sent() -> None:
    first = [call("look"), UsageDelta(Usage(600, 0)), ReplyEnd("tools", "tool_calls")]
    ran = run([first, "Too much."], LongSystem(first=2), limits=Limits(tokens=3_000))

    assert len(ran.wire.prompts) == 1
    assert "2,400 of the turn's budget of 3,000 are left. `--budget 5000` leaves room" in str(ran.outcome.error)


def test_a_request_within_the_budget_is_sent() -> None:
    ran = run(["Hello."], LongSystem(), limits=Limits(tokens=3_000))

    assert ran.outcome.text == "Hello."


def test_a_request_is_measured_only_for_a_budget() -> None:
    class Unread(dict[str, object]):
        def __iter__(self) -> Any:
            raise AssertionError("the schema was read")

        keys = __iter__

    prompt = Prompt((), tools=(ToolSpec("price", "", Unread(a=1)),))

    assert exceeds_budget(prompt, Meter(Limits())) is None
    with pytest.raises(AssertionError, match="was read"):
        exceeds_budget(prompt, Meter(Limits(tokens=1)))


def test_only_what_is_text_counts_as_characters_of_a_request() -> None:
    asked = user("four", Media("image/png", b"x" * 1_000))
    answered = Message("assistant", [Thinking("at length"), ToolCall("look", "{}"), Text("ok")])
    given = results(ToolResult("look", "seen", media=(Media("image/png", b"x" * 1_000),)))

    assert text_size(Prompt((asked, answered, given), system="be")) == len("four{}okseenbe")
