"""Costs that are computed from the tokens of a reply, and budgets that depend on them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import ClauseEquals, ModelInfo
from genai_prices.types import Provider as PriceProvider

from nbtool import Chat, tool
from nbtool.blocks.labels import footer_line
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.errors import NbtoolError
from nbtool.events import Delta, Event, Notice, UsageDelta
from nbtool.messages import Usage
from nbtool.plugins.budget import Budget, Price
from nbtool.wire.endpoints.reply_cost import with_cost
from nbtool.wire.providers.model_prices import ModelPrice, find_model_price, find_price_function
from tests.chaos import DONE, ChaosServer, Reset, event, finish, head, serve_each, text, whole
from tests.wire import anthropics, responding
from tests.wire.process_state import clear_adaptations

USAGE = event({"choices": [], "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 100_000}})


@pytest.fixture(autouse=True)
def no_adaptations() -> Iterator[None]:
    clear_adaptations()
    yield
    clear_adaptations()


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a function that makes a loopback server the own host of OpenAI, over Chat Completions."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def configure(server: ChaosServer) -> None:
        (tmp_path / "providers.toml").write_text(f'[openai]\nbase_url = "{server.url}"\nwire = "chat"\n')

    return configure


def reply(*steps: Any) -> list[Any]:
    return [head(), text("Well."), *steps]


COMPLETE = reply(finish(), USAGE, DONE)


def read_deltas(chat: Chat) -> list[Event]:
    seen: list[Event] = []
    turn = chat.compose("Hi")
    turn.add_listener(seen.append)
    turn.start().done.result(240)
    return seen


@tool(run="auto")
def look() -> str:
    "Look again."
    return "nothing"


def call_reply() -> list[bytes]:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    asked = event({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    return [head(), asked, USAGE, DONE]


def test_the_cost_of_a_known_model_is_computed_and_marked(own_host: Any) -> None:
    price = find_model_price("openai", "gpt-6.1-terra")
    assert price.input is not None
    assert price.output is not None
    with serve_each(COMPLETE) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra").send("Hi")

    assert turn.cost is not None
    assert turn.cost > 0
    assert turn.cost_is_estimate
    assert f"about ${turn.cost:.4f}" in footer_line(turn.transcript().document()["head"])


def test_a_reported_cost_is_neither_replaced_nor_marked(own_host: Any) -> None:
    usage = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 10, "cost": 0.5}})
    with serve_each(reply(finish(), usage, DONE)) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra").send("Hi")

    assert (turn.cost, turn.cost_is_estimate) == (0.5, False)
    assert "· $0.5000" in footer_line(turn.transcript().document()["head"])


def test_the_tokens_of_a_partial_reply_are_priced(own_host: Any) -> None:
    with serve_each([head(), text("Well."), USAGE, Reset()]) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra").send("Hi")

    assert turn.status == "error"
    assert turn.cost


def test_the_tokens_of_a_reply_without_an_end_are_priced(own_host: Any) -> None:
    async def batches() -> AsyncGenerator[list[Delta], None]:
        yield [UsageDelta(Usage(1_000_000, 100_000))]

    async def read() -> list[Delta]:
        return [delta async for batch in with_cost(endpoint, batches()) for delta in batch]

    with serve_each(COMPLETE) as server:
        own_host(server)
        endpoint = Chat("openai:gpt-6.1-terra").model.endpoint().native  # type: ignore[attr-defined]  # of HTTP
        first, last = asyncio.run(read())

    assert isinstance(first, UsageDelta)
    assert isinstance(last, UsageDelta)
    assert (first.usage.cost is None, last.usage.is_cost_estimated) == (True, True)


def test_an_unknown_model_has_no_cost(own_host: Any) -> None:
    with serve_each(COMPLETE) as server:
        own_host(server)
        turn = Chat("openai:never-heard-of").send("Hi")

    assert turn.cost is None


def test_the_usage_of_an_unknown_model_is_looked_up_and_reported_once(own_host: Any) -> None:
    with serve_each(COMPLETE) as server:
        own_host(server)
        deltas = read_deltas(Chat("openai:never-heard-of"))

    assert [delta.usage.is_cost_unknown for delta in deltas if isinstance(delta, UsageDelta)] == [False, True]


def test_the_price_of_a_provider_does_not_hold_at_another_host() -> None:
    with serve_each(COMPLETE) as server:
        turn = Chat("openai:gpt-6.1-terra", base_url=server.url, api_key="k").send("Hi")

    assert turn.cost is None


def test_a_budget_in_dollars_ends_a_turn_of_a_model_of_known_price(own_host: Any) -> None:
    with serve_each(call_reply()) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra", tools=[look]).send("Look.", settings=TurnSettings(limits=Limits(cost=0.01)))

    assert len(server.requests) == 1
    assert turn.end_reason == "cost"
    assert "budget of 0.01 USD" in str(turn.error)


def test_a_budget_in_dollars_is_refused_for_a_model_of_unknown_price(own_host: Any) -> None:
    with serve_each(COMPLETE) as server:
        own_host(server)
        turn = Chat("openai:never-heard-of").send("Hi", settings=TurnSettings(limits=Limits(cost=0.01)))

    assert server.requests == []
    assert "price of never-heard-of is unknown" in str(turn.error)
    assert "--budget 20000" in str(turn.error)


def test_a_budget_in_dollars_is_refused_for_a_server_of_this_machine() -> None:
    with serve_each(COMPLETE) as server:
        chat = Chat("tiny", base_url=server.url)
        turn = chat.send("Hi", settings=TurnSettings(limits=Limits(cost=0.01)))
        with pytest.raises(NbtoolError, match="price of tiny is unknown"):
            chat.map(["Hi"], usd=0.01)

    assert server.requests == []
    assert "price of tiny is unknown" in str(turn.error)


def test_the_budget_of_a_chat_needs_no_price_for_a_known_model(own_host: Any) -> None:
    budget = Budget(usd=1000)
    with serve_each(COMPLETE) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra", plugins=[budget]).send("Hi")

    assert turn.status == "completed"
    assert budget.cost == turn.cost


def test_a_price_of_the_user_takes_precedence_over_the_computed_cost(own_host: Any) -> None:
    budget = Budget(usd=1000, prices={"gpt-6.1-terra": Price(1.0, 10.0)})
    with serve_each(COMPLETE) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra", plugins=[budget]).send("Hi")

    assert (turn.cost, budget.cost) == (2.0, 2.0)


def test_tokens_read_from_and_written_to_the_cache_have_their_own_prices() -> None:
    cost_of = find_price_function("anthropic", "claude-sonnet-5-5")
    assert cost_of is not None

    plain = cost_of(Usage(1000))
    read = cost_of(Usage(1000, cached_tokens=1000))
    written = cost_of(Usage(1000, cache_write_tokens=1000))

    assert read < plain < written


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-6.1-terra"), ("anthropic", "claude-sonnet-5-5"), ("google", "gemini-3.8-flash"),
        ("xai", "grok-4.7"), ("moonshot", "kimi-k3"), ("zai", "glm-5.3"), ("deepseek", "deepseek-v4-flash"),
        ("groq", "openai/gpt-oss-120b"), ("cerebras", "gpt-oss-120b"), ("perplexity", "sonar"),
        ("together", "zai-org/GLM-5.3"), ("mistral", "mistral-medium-latest"),
    ],
)  # fmt: skip
def test_the_default_models_that_ship_have_a_price(provider: str, model: str) -> None:
    assert find_model_price(provider, model).input


def test_the_prices_load_only_when_one_is_needed() -> None:
    code = "import sys, nbtool; nbtool.Chat('practice:fast').send('Hi'); print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)

    assert done.stdout.strip() == "False"


def test_an_announced_shutdown_is_reported_once(own_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import datetime as dt

    from nbtool.wire.providers import model_data

    today = dt.datetime.now().astimezone().date()
    data = model_data.model_data()
    row = model_data.Shutdown("openai", data.shutdowns[0].model, today + dt.timedelta(days=9), "gpt-7")
    fresh = replace(data, shutdowns=(row,))
    monkeypatch.setattr(model_data, "model_data", lambda: fresh)
    with serve_each(COMPLETE) as server:
        own_host(server)
        chat = Chat("openai:gpt-5-mini")
        turns = [chat.send("Hi") for _ in range(2)]

    notices = [[one.text for one in turn.log if isinstance(one, Notice)] for turn in turns]
    assert notices == [[f"gpt-5-mini will be shut down on {row.day}. Its replacement is gpt-7."], []]


def test_the_default_is_chosen_from_the_providers_own_list_which_is_fetched_once(own_host: Any) -> None:
    listed = [whole(200, {"data": [{"id": "gpt-6-terra"}, {"id": "gpt-9-terra", "shutdown_date": "2999-01-02"}]})]
    with serve_each(listed, COMPLETE) as server:
        own_host(server)
        first, second = Chat().send("Hi"), Chat().send("Hi")

    assert [request.path for request in server.requests] == ["/v1/models", *["/v1/chat/completions"] * 2]
    assert (first.model, second.model) == ("openai:gpt-9-terra", "openai:gpt-9-terra")
    assert server.requests[1].json["model"] == "gpt-9-terra"
    assert "will be shut down on 2999-01-02" in str([one for one in first.log if isinstance(one, Notice)])


def test_without_a_list_the_default_that_ships_is_used(own_host: Any) -> None:
    with serve_each([whole(500, {})], COMPLETE) as server:
        own_host(server)
        turn = Chat().send("Hi")

    assert turn.model == "openai:gpt-6.1-terra"


def test_a_model_that_the_user_named_fetches_no_list(own_host: Any) -> None:
    with serve_each(COMPLETE) as server:
        own_host(server)
        Chat("openai:gpt-6.1-terra").send("Hi")
        Chat("openai:gpt-6.1-terra").rehearse("Hi")

    assert [request.path for request in server.requests] == ["/v1/chat/completions"]


def test_a_batch_has_a_budget_in_dollars_for_a_model_of_known_price(own_host: Any) -> None:
    with serve_each(COMPLETE) as server:
        own_host(server)
        batch = Chat("openai:gpt-6.1-terra").map(["One", "Two", "Three"], usd=0.01, progress=False, resume=False)

    assert len(server.requests) == 1
    assert len(batch.errors) == 2


def test_a_model_without_a_price_still_has_its_context() -> None:
    model = ModelInfo(id="free-1", match=ClauseEquals(equals="free-1"), context_window=8_000)
    provider = PriceProvider(id="lab", name="Lab", api_pattern="https://lab\\.example", models=[model])
    set_custom_snapshot(DataSnapshot([provider], from_auto_update=False))
    try:
        assert find_model_price("lab", "free-1") == ModelPrice(context=8_000)
    finally:
        set_custom_snapshot(None)


def test_without_a_provider_and_an_address_no_price_is_known() -> None:
    assert find_model_price("", "gpt-6.1-terra") == ModelPrice()


UNKNOWN = "no price known"


@pytest.mark.parametrize(("provider", "is_charged"), [("openai", True), ("ollama", False), ("litellm", True)])
def test_a_footer_marks_an_unknown_cost_unless_the_provider_charges_nothing(
    provider: str, is_charged: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serve_each(COMPLETE) as server:
        (tmp_path / "providers.toml").write_text(f'[{provider}]\nbase_url = "{server.url}"\nwire = "chat"\n')
        turn = Chat(f"{provider}:never-heard-of").send("Hi")

    assert turn.cost is None
    assert turn.usage.is_cost_unknown == is_charged
    assert (UNKNOWN in footer_line(turn.transcript().head)) == is_charged


def test_an_unknown_cost_beside_a_known_one_is_a_part_of_the_estimate() -> None:
    both = Usage(10, 10, is_cost_unknown=True) + Usage(10, 10, cost=0.5)

    assert (both.cost, both.is_cost_estimated, both.is_cost_unknown) == (0.5, True, True)


def test_the_cost_of_a_reply_counts_the_tokens_of_its_further_steps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps = [{"type": "compaction", "input_tokens": 60_000, "output_tokens": 500}, {"type": "message"}]
    usage = {"input_tokens": 600, "output_tokens": 1_000, "iterations": steps}
    body = anthropics.stream(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Well."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}, {"type": "message_stop"},
    )  # fmt: skip
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with serve_each([head(), body]) as server:
        (tmp_path / "providers.toml").write_text(f'[anthropic]\nbase_url = "{server.url}"\n')
        turn = Chat("anthropic:claude-opus-4-5").send("Hi")
    price = find_model_price("anthropic", "claude-opus-4-5")
    assert price.input
    assert price.output

    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (60_600, 1_500)
    assert turn.cost == pytest.approx((60_600 * price.input + 1_500 * price.output) / 1e6)


WITHOUT_TOOLS = " without the provider's tools"


@pytest.mark.parametrize("is_searched", [True, False])
def test_a_computed_cost_says_that_it_lacks_the_searches_of_the_provider(
    is_searched: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "rain"}}
    usage = {"input_tokens": 1_000, "output_tokens": 1_000}
    items = [*([search] if is_searched else []), responding.message_item("Well.")]
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serve_each([head(), responding.stream(responding.completed_event(*items, usage=usage))]) as server:
        (tmp_path / "providers.toml").write_text(f'[openai]\nbase_url = "{server.url}"\nwire = "responses"\n')
        turn = Chat("openai:gpt-6.1-terra").send("Hi")

    assert turn.cost
    assert turn.usage.lacks_tool_cost == is_searched
    assert (f"about ${turn.cost:.4f}{WITHOUT_TOOLS}" in footer_line(turn.transcript().head)) == is_searched
