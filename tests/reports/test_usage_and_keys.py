"""What other projects reported: what a request used and cost, whose answer it was, and keys in errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from nbtool import Chat, Denied
from nbtool.errors import BadUsage
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.plugins import Budget
from nbtool.secret import Secret
from nbtool.testing import ScriptedWire
from nbtool.usage import Usage
from nbtool.wire import decode
from nbtool.wire.framing.redaction import redact
from nbtool.wire.providers.model_prices import find_price_function, find_reply_price
from tests.chaos import DONE, event, finish, head, serve_each, text
from tests.contract.simulator import simulate
from tests.wire.anthropics import stream as anthropic_stream
from tests.wire.chatting import chunk, read


def streamed(*usages: dict[str, Any]) -> Usage:
    """Return the usage of a chat stream with these chunks of usage behind its text."""
    ends = [{"choices": [], "usage": usage} for usage in usages]
    return read(chunk({"content": "Hi"}), chunk({}, "stop"), *ends).usage


def test_reasoning_beside_the_completion_is_output() -> None:
    """vercel/ai#12425, UKGovernmentBEIS/inspect_ai#5528: xAI counts reasoning beside `completion_tokens`: 1 and 386 of
    a total of 399. Right: 387 tokens of output. Before: wrong."""
    usage = streamed(
        {
            "prompt_tokens": 12,
            "completion_tokens": 1,
            "total_tokens": 399,
            "completion_tokens_details": {"reasoning_tokens": 386},
        }
    )

    assert (usage.output_tokens, usage.thinking_tokens, usage.total_tokens) == (387, 386, 399)


def test_the_cost_with_reasoning_is_what_the_provider_says() -> None:
    """Wei-Shaw/sub2api#5771: 10,120 + 1,499 + 2,809 = 14,428 tokens, the last of them reasoning, cost 232,856,000
    ticks. Right: 4,308 tokens of output, whose price makes the reported $0.0232856. Before: wrong."""
    usage = streamed(
        {
            "prompt_tokens": 10_120,
            "completion_tokens": 1_499,
            "total_tokens": 14_428,
            "prompt_tokens_details": {"cached_tokens": 128},
            "completion_tokens_details": {"reasoning_tokens": 2_809},
            "cost_in_usd_ticks": 232_856_000,
        }
    )

    assert (usage.output_tokens, usage.cached_tokens, usage.cost) == (4_308, 128, 0.0232856)
    assert round((10_120 - 128) * 1.25e-6 + 128 * 0.2e-6 + usage.output_tokens * 2.5e-6, 7) == usage.cost


def test_usage_in_a_chunk_before_the_last_is_kept() -> None:
    """openai/openai-agents-python#2126: the usage comes in an earlier chunk, the last one has none. Right: it is kept.
    Before: right."""
    usage = streamed({"prompt_tokens": 20, "completion_tokens": 4}, {})

    assert (usage.input_tokens, usage.output_tokens) == (20, 4)


def test_usage_beside_the_finish_reason_is_read() -> None:
    """avala-ai/agent-code#375: OpenRouter sends the usage in the chunk of the finish reason. Right: 13,159 tokens in,
    1,358 out. Before: right."""
    used = {"prompt_tokens": 13_159, "completion_tokens": 1_358}
    usage = read(chunk({"content": "Hi"}), chunk({}, "stop", usage=used)).usage

    assert (usage.input_tokens, usage.output_tokens) == (13_159, 1_358)


def messages(start: dict[str, Any], end: dict[str, Any], model: str = "m") -> bytes:
    return anthropic_stream(
        {"type": "message_start", "message": {"id": "m", "content": [], "model": model, "usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
    )


def test_the_input_of_the_first_event_is_kept_where_the_last_has_none() -> None:
    """sgl-project/sglang#33419: `message_delta` has the output only, 16; the input, 8, came with `message_start`.
    Right: 8 in, 16 out. Before: right."""
    usage = decode("anthropic", messages({"input_tokens": 8, "output_tokens": 0}, {"output_tokens": 16})).usage

    assert (usage.input_tokens, usage.output_tokens) == (8, 16)


def test_a_placeholder_of_zeros_is_replaced() -> None:
    """sgl-project/sglang#20678, sgl-project/sglang#33419: `message_start` has zeros, `message_delta` the real input, 8,
    and the output, 16. Right: 24 in total. Before: right."""
    start, end = {"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 8, "output_tokens": 16}

    assert decode("anthropic", messages(start, end)).usage.total_tokens == 24


def test_cache_writes_of_an_hour_cost_twice_the_input() -> None:
    """earendil-works/pi#5737: one million tokens are written to the cache, 400,000 of them for an hour. Right: $7.75
    with Opus 4.8, not $6.25. Before: wrong."""
    lifetimes = {"ephemeral_5m_input_tokens": 600_000, "ephemeral_1h_input_tokens": 400_000}
    fields = {"input_tokens": 0, "cache_creation_input_tokens": 1_000_000, "cache_creation": lifetimes}
    cost_of = find_price_function("anthropic", "claude-opus-4-8")
    assert cost_of is not None

    assert round(cost_of(decode("anthropic", messages(fields, {})).usage), 4) == 7.75


def test_a_fallback_is_priced_as_the_model_that_answered() -> None:
    """earendil-works/pi#8285: Opus 4.8 answers for Fable 5, 412 in and 264 out. Right: $0.00866, not $0.01732. Before:
    wrong."""
    used = {"input_tokens": 412, "output_tokens": 264}
    usage = decode("anthropic", messages(used, used, "claude-opus-4-8")).usage
    cost = find_reply_price("anthropic", "claude-fable-5")(usage)

    assert usage.model == "claude-opus-4-8"
    assert cost is not None
    assert round(cost, 5) == 0.00866


def test_a_router_that_answers_with_another_model_is_seen() -> None:
    """langchain-ai/openwiki#85: OpenRouter answered with Claude Sonnet 5 in place of DeepSeek, and nobody was told.
    Right: a notice names both. Before: wrong."""
    used = {"choices": [], "model": "anthropic/claude-sonnet-5", "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    with serve_each([head(), text("Hi"), finish(), event(used), DONE]) as server:
        turn = Chat("openai:deepseek-v4-flash", base_url=server.url, api_key="k", wire="chat").send("Hi")

    notices = [one.text for one in turn.log if one.kind == "notice"]
    assert "anthropic/claude-sonnet-5 answered, in place of deepseek-v4-flash." in notices


def test_a_key_in_an_echoed_address_is_hidden() -> None:
    """langwatch/langwatch#6252: Google repeats the address of the request, with its key percent-encoded. Right: the key
    is hidden, the rest is shown. Before: right."""
    key = "nb+key/with=signs"
    error = json.dumps({"error": {"message": f"Bad request: GET /v1beta/models?x={quote(key, safe='')}&alt=sse"}})

    shown = redact(error, [Secret(key)])

    assert "nb%2Bkey" not in shown
    assert "&alt=sse" in shown


def test_a_recorded_turn_needs_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """antiwork/gumroad#2622: a client without a key fails before the recording of its request is looked up.
    Right: the turn is replayed. Before: wrong.
    """
    path = tmp_path / "recording.nbtool.json"
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-test")
    with simulate() as model:
        model.say("Hello.")
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        recorded = Chat("openai:a-model")
        recorded.record(path)
        assert recorded.send("Hi").status == "completed"
    monkeypatch.delenv("OPENAI_API_KEY")
    chat = Chat("openai:a-model")
    chat.record(path)

    turn = chat.send("Hi")

    assert (turn.text, turn.status, turn.replayed is None) == ("Hello.", "completed", False)


def test_a_budget_that_is_spent_lets_models_that_cost_nothing_go_on() -> None:
    """BerriAI/litellm#14004, BerriAI/litellm#10973: once a budget is spent, the models on one's own machine are refused
    too. Right: what costs nothing goes on, and the others do not. Before: wrong."""
    budget = Budget(usd=0.01, ask=lambda _: Denied("No."))
    costly: list[Any] = ["Hello.", UsageDelta(Usage(5, 1, cost=0.02)), ReplyEnd("end", "stop")]
    wire = ScriptedWire([costly], abilities=["reports_cost"])
    paid, free = Chat(wire=wire, plugins=[budget]), Chat("practice:fast", plugins=[budget])

    turns = [paid.send("Go."), paid.send("Go."), free.send("Go."), free.send("Go.")]

    assert [turn.status for turn in turns] == ["completed", "error", "completed", "completed"]
    assert budget.cost == 0.02


def test_a_model_of_unknown_price_is_not_taken_for_one_that_costs_nothing() -> None:
    """garrytan/gbrain#2149, supernovae-st/nika#1368: a model of no known price counts as 0 dollars, so that no
    budget ever ends. Right: it is refused before anything is sent, unless its server charges nothing. Before: right."""
    with ScriptedWire([]) as wire:
        turn = Chat(wire=wire, plugins=[Budget(usd=1)]).send("Go.")

    assert isinstance(turn.error, BadUsage)
    assert wire.prompts == []
