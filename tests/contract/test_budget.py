"""A budget of money or tokens ends a turn before the next request; a cost that is not known is said to be unknown.

Plugins of a user see every step, and files of events have content only if that is asked for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Denied, tool
from nbtool.errors import LimitReached
from nbtool.plugins import Budget, EventLog, Price, Privacy, Telemetry
from tests.contract.dialects import Answer
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call

FEATURE = "mask private values, limit cost, trace"


@tool(run="auto")
def step() -> str:
    "Make a step."
    return "made"


def priced(**prices: Price) -> Budget:
    return Budget(usd=1, prices=prices)


@pytest.mark.feature(FEATURE)
def test_a_turn_knows_its_cost_by_the_prices_of_the_user(model: Provider) -> None:
    model.say(Answer("Hello.", input_tokens=1_000_000, output_tokens=100_000))

    turn = model.chat(plugins=[priced(tiny=Price(input=0.25, output=2))]).send("Hello?")

    assert turn.cost == pytest.approx(0.45)
    assert turn.cost_is_estimate


def test_a_cost_that_is_not_known_is_not_zero(model: Provider) -> None:
    model.say("Hello.")

    assert model.chat().send("Hello?").cost is None


def test_the_model_that_answered_is_named(model: Provider) -> None:
    model.say(Answer("Hello.", model="tiny-2026-11"))

    turn = model.chat().send("Hello?")

    assert turn.usage.model == "tiny-2026-11"


def test_a_notice_names_another_model_than_was_asked(model: Provider) -> None:
    model.say(Answer("Hello.", model="some-other-model"))

    turn = model.chat().send("Hello?")

    assert any("some-other-model" in notice.text for notice in turn.notices)


@pytest.mark.promise("bounded")
@pytest.mark.feature(FEATURE)
def test_a_budget_of_a_chat_is_checked_before_each_request(model: Provider) -> None:
    model.say(Answer("", (call("step"),), input_tokens=1_000))

    turn = model.chat(tools=[step], plugins=[Budget(tokens=500)]).send("Go on.")

    assert isinstance(turn.error, LimitReached)
    assert len(model.requests) == 1


@pytest.mark.promise("bounded")
@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize(("decision", "requests"), [(Approved(), 2), (Denied(), 1)])
def test_a_person_can_be_asked_to_go_on_beyond_a_budget(model: Provider, decision: Any, requests: int) -> None:
    model.say(Answer("", (call("step"),), input_tokens=1_000), "Done.")

    model.chat(tools=[step], plugins=[Budget(tokens=500, ask=lambda question: decision)]).send("Go on.")

    assert len(model.requests) == requests


@pytest.mark.promise("bounded")
def test_a_cell_has_a_budget_of_tokens(notebook: Notebook, model: Provider) -> None:
    notebook.names["step"] = step
    model.say(Answer("", (call("step"),), input_tokens=90_000))

    turn = notebook.ask("Go on.", "-t step --budget 20000")

    assert isinstance(turn.error, LimitReached)
    assert len(model.requests) == 1


@pytest.mark.promise("bounded")
def test_a_budget_in_dollars_for_a_model_without_a_price_says_so(notebook: Notebook, model: Provider) -> None:
    model.always("Hello.")

    turn = notebook.ask("Hello?", "--budget $1")

    assert "price of tiny" in str(turn.error)
    assert model.requests == []


@pytest.mark.promise("bounded")
def test_a_chat_limits_the_cost_of_each_turn(model: Provider) -> None:
    model.say(Answer("", (call("step"),), input_tokens=8_000_000))
    chat = model.chat(tools=[step], plugins=[Budget(usd=100, prices={"tiny": Price(input=1, output=1)})])
    chat.limits = dataclasses.replace(chat.limits, cost=5)

    turn = chat.send("Go on.")

    assert isinstance(turn.error, LimitReached)
    assert len(model.requests) == 1


@pytest.mark.feature(FEATURE)
def test_every_event_of_a_turn_can_be_written_to_a_file(model: Provider, tmp_path: Path) -> None:
    model.say(call("step"), "Done.")

    model.chat(tools=[step], plugins=[EventLog(tmp_path / "events.jsonl")]).send("Go on.")

    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 5
    assert any("step" in line for line in lines)
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o077 == 0


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("content", [False, True])
def test_a_turn_is_a_trace_with_content_only_if_that_is_asked_for(model: Provider, content: bool) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    model.say(call("step"), "The answer is Zanzibar.")

    model.chat(tools=[step], plugins=[Telemetry(content=content, tracer_provider=provider)]).send("Go on.")

    spans = memory.get_finished_spans()
    shown = " ".join(
        f"{span.name} {dict(span.attributes)} {[dict(e.attributes) for e in span.events]}" for span in spans
    )
    assert "step" in shown
    assert ("Zanzibar" in shown) is content
    provider.shutdown()


def test_a_plugin_of_a_user_sees_every_step(model: Provider) -> None:
    steps: list[str] = []

    class Listener:
        def on_turn_start(self, context: Any) -> None:
            steps.append("start")

        def on_before_request(self, context: Any) -> None:
            steps.append("request")

        def on_call_start(self, context: Any) -> None:
            steps.append("call")

        def on_call_end(self, context: Any) -> None:
            steps.append("result")

        def on_turn_end(self, context: Any) -> None:
            steps.append("end")

    model.say(call("step"), "Done.")

    model.chat(tools=[step], plugins=[Listener()]).send("Go on.")

    assert steps == ["start", "request", "call", "result", "request", "end"]


def test_a_misspelt_hook_of_a_plugin_is_refused(model: Provider) -> None:
    class Misspelt:
        def on_turn_begin(self, context: Any) -> None:
            """Never called."""

    with pytest.raises(Exception, match="on_turn_begin"):
        model.chat(plugins=[Misspelt()])


def test_plugins_that_mask_and_trace_go_together(model: Provider, tmp_path: Path) -> None:
    model.say("Fine.")

    model.chat(plugins=[EventLog(tmp_path / "e.jsonl"), Privacy()]).send("Write to ada@navy.example.")

    assert "ada@navy.example" not in model.everything
