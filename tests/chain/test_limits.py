from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.hooks import ReplyContext, TurnContext
from nbtool.chain.limits import MAX_ROUNDS, Limits
from nbtool.chain.usage_meter import Meter
from nbtool.errors import BadUsage, LimitReached
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import ToolResult, Usage, results, user
from nbtool.plugins.continuation import Continuation
from nbtool.testing import ScriptedWire, call
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
    assert Limits(max_rounds=10_000).max_rounds == MAX_ROUNDS == 256


@pytest.mark.parametrize("name", ["max_rounds", "max_calls", "seconds", "tokens", "cost"])
def test_a_limit_of_nothing_makes_no_sense(name: str) -> None:
    with pytest.raises(BadUsage, match=f"{name} cannot be 0"):
        Limits(**{name: 0})


@pytest.mark.parametrize(
    ("limits", "calls"),
    [(Limits(), 128), (Limits(max_rounds=256), 256), (Limits(max_calls=5), 5), (Limits(256, max_calls=5), 5)],
)
def test_the_limit_of_calls_grows_with_that_of_rounds_unless_it_is_set(limits: Limits, calls: int) -> None:
    assert limits.call_limit == calls


@pytest.mark.sampled(0)
def test_a_turn_of_256_rounds_may_make_a_call_in_each_of_them() -> None:
    @tool(run="auto")
    def step(n: int) -> int:
        """Step."""
        return n

    with ScriptedWire([*(call("step", n=n) for n in range(255)), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[step], max_rounds=256).send("Go.")

    assert (len(wire.prompts), len(turn.calls), turn.text) == (256, 255, "Done.")


def test_the_notice_of_a_limit_names_the_setting_that_raises_it() -> None:
    @tool(run="auto")
    def step(n: int) -> int:
        """Step."""
        return n

    def send(**limits: int) -> str:
        replies = [*(call("step", n=n) for n in range(limits.get("max_calls", limits["max_rounds"] - 1))), "Done."]
        (notice,) = Chat(wire=ScriptedWire(replies), tools=[step], **limits).send("Go.").notices
        return notice.text

    assert send(max_rounds=9, max_calls=2).endswith(
        "`--set max_calls=NUMBER` (in Python `max_calls`) raises the limit."
    )
    assert send(max_rounds=2).endswith("`--set max_rounds=NUMBER` (in Python `max_rounds`) raises the limit.")
    assert "larger" not in send(max_rounds=256)  # which is the most
    assert "2 tool calls" in send(max_rounds=9, max_calls=2)


def test_of_many_repeated_calls_a_limit_names_three() -> None:
    meter = Meter(Limits(max_repeats=2), repeats=2, repeated=("a", "b", "c", "d"))

    reached = meter.reached_limit()

    assert reached
    assert ["`" + name + "`" in reached.text for name in "abcd"] == [True, True, True, False]


@pytest.mark.promise("bounded")
@pytest.mark.parametrize(
    ("limits", "reply", "spent"),
    [
        (Limits(tokens=100), costly(60), "used 120 tokens (120 in, 0 out) of its budget of 100"),
        (Limits(cost=0.05), costly(1, 0.04), "used 0.08 USD of its budget of 0.05 USD"),
    ],
    ids=["tokens", "cost"],
)
def test_a_spent_budget_ends_the_turn_without_one_more_request(limits: Limits, reply: list[object], spent: str) -> None:
    ran = run([reply, reply, "Too much."], Answering(), limits=limits, abilities=["reports_cost"])

    assert len(ran.wire.prompts) == 2
    assert ran.outcome.status == "error"
    assert isinstance(ran.outcome.error, LimitReached)
    assert spent in str(ran.outcome.error)
    assert ran.outcome.end_reason == ("tokens" if limits.tokens else "cost")
    assert len(ran.of("error_raised")) == 1


@pytest.mark.promise("bounded")
def test_an_empty_reply_is_not_asked_about_once_the_budget_is_spent() -> None:
    empty: list[object] = [UsageDelta(Usage(60, 0)), ReplyEnd("end", "stop")]
    ran = run([costly(60), empty, "Too much."], Answering(), limits=Limits(tokens=100))

    assert len(ran.wire.prompts) == 2
    assert isinstance(ran.outcome.error, LimitReached)


@pytest.mark.promise("bounded")
def test_a_final_reply_is_not_continued_once_the_budget_is_spent() -> None:
    cut_off: list[object] = ["Half", UsageDelta(Usage(60, 0)), ReplyEnd("length", "length")]
    ran = run([costly(60), cut_off, "Too much."], Answering(), Continuation(), limits=Limits(tokens=110, max_rounds=2))

    assert len(ran.wire.prompts) == 2
    assert ran.outcome.text == "Half"


def test_a_budget_of_dollars_for_a_model_of_unknown_price_is_refused_before_anything_is_sent() -> None:
    ran = run(["Hello."], limits=Limits(cost=0.0001))

    assert ran.wire.prompts == []
    assert isinstance(ran.outcome.error, BadUsage)
    assert "0.0001 USD cannot be checked" in str(ran.outcome.error)
    assert "--budget 20000" in str(ran.outcome.error)


def test_a_reply_that_does_not_say_its_cost_ends_a_turn_with_a_budget_of_dollars() -> None:
    ran = run([costly(1, 0.01), costly(1), "Too much."], Answering(), limits=Limits(cost=1), abilities=["reports_cost"])

    assert len(ran.wire.prompts) == 2
    assert "did not report its cost" in str(ran.outcome.error)


def test_a_server_that_charges_nothing_keeps_within_any_budget_of_dollars() -> None:
    ran = run([costly(60), "Done."], Answering(), limits=Limits(cost=0.0001), abilities=["charges_nothing"])

    assert (ran.outcome.text, ran.outcome.status, ran.turn.meter.unpriced) == ("Done.", "completed", 0)


def test_a_computed_cost_replaces_none_and_an_estimate_and_no_reported_one() -> None:
    meter = Meter(Limits(), price_of=lambda usage: usage.input_tokens / 100)
    unknown = meter.add(Usage(3, 0, is_cost_unknown=True))
    estimated = meter.add(Usage(4, 0, cost=9.0, is_cost_estimated=True))
    reported = meter.add(Usage(5, 0, cost=1.0))

    assert unknown == Usage(3, 0, cost=0.03, is_cost_estimated=True)
    assert estimated == Usage(4, 0, cost=0.04, is_cost_estimated=True)
    assert reported == Usage(5, 0, cost=1.0)
    assert meter.unpriced == 0


def test_no_call_remains_after_more_than_are_allowed() -> None:
    meter = Meter(Limits(max_calls=2))
    remaining = []
    for meter.calls in (0, 2, 3):
        remaining.append(meter.remaining_calls())

    assert remaining == [2, 0, 0]


def test_a_signal_is_set_once_and_keeps_its_first_reason() -> None:
    signal = CancelSignal()

    signal.cancel("first")
    signal.cancel("second")

    assert (signal.is_set, signal.reason) == (True, "first")


def test_a_turn_that_has_not_started_has_no_server_and_no_text() -> None:
    limits = Limits()

    async def emit(_: object) -> None: ...

    context = TurnContext("turn_1", user("Hi"), (), limits, emit, CancelSignal(), Meter(limits))

    assert (context.status, context.host, context.model, context.dialect, context.text) == ("running", "", "", "", "")
    assert (context.abilities, context.chain, context.state) == (frozenset(), [], {})


def test_a_budget_is_spent_as_soon_as_all_of_it_is_used() -> None:
    meter = Meter(Limits(cost=0.5), usage=Usage(1, 1, cost=0.5))

    reached = meter.exceeded_budget()

    assert reached is not None
    assert "0.5 USD of its budget of 0.5 USD" in str(reached)


class Watching:
    """Writes down whether another request is possible after each reply."""

    def __init__(self) -> None:
        self.seen: list[tuple[bool, bool]] = []

    async def on_after_request(self, reply: ReplyContext) -> None:
        self.seen.append((reply.is_final, reply.can_request))


def test_a_plugin_learns_whether_another_request_is_possible() -> None:
    watching = Watching()

    run([costly(60), "Done."], Answering(), watching, limits=Limits(tokens=50, max_rounds=4))
    run([costly(1), "Done."], Answering(), watching, limits=Limits(max_rounds=2))

    spent, final = [(False, True)], [(False, True), (True, False)]
    assert watching.seen == [*spent, *final]
