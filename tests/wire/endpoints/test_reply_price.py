"""Which price a token of a reply has: by its kind, and by the model that used it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import ClauseEquals, ClauseStartsWith, ModelInfo
from genai_prices.types import ModelPrice as ListedPrice
from genai_prices.types import Provider as PriceProvider

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.plugins.budget import Budget, Price
from nbtool.usage import Usage
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.endpoints.reply_cost import find_listed_price
from nbtool.wire.providers.model_id import is_same_model
from nbtool.wire.providers.model_prices import find_price_function, find_reply_price
from tests.chaos import DONE, event, finish, head, serve_each, text
from tests.wire.process_state import clear_adaptations

PRICED = {
    "input_mtok": 100, "output_mtok": 1_000, "cache_read_mtok": 10,
    "input_audio_mtok": 400, "cache_audio_read_mtok": 40, "output_audio_mtok": 4_000, "input_image_mtok": 300,
    "cache_image_read_mtok": 30, "output_image_mtok": 3_000, "web_searches_kcount": 1_000,
}  # fmt: skip
WRITTEN = {
    "input_mtok": 100,
    "cache_read_mtok": 10,
    "cache_write_mtok": 125,
    "cache_write_1h_mtok": 200,
    "output_mtok": 1,
}


@pytest.fixture(autouse=True)
def price_list() -> Iterator[None]:
    dear, written = (ListedPrice(**{name: Decimal(value) for name, value in one.items()}) for one in (PRICED, WRITTEN))
    cheap = ListedPrice(input_mtok=Decimal(1), output_mtok=Decimal(1))
    models = [
        ModelInfo(id="dear", match=ClauseStartsWith(starts_with="dear"), prices=dear),
        ModelInfo(id="written", match=ClauseEquals(equals="written"), prices=written),
        ModelInfo(id="cheap", match=ClauseEquals(equals="cheap"), prices=cheap),
    ]
    listed = PriceProvider(id="pricelab", name="Lab", api_pattern="https://pricelab\\.example", models=models)
    own = PriceProvider(id="openai", name="OpenAI", api_pattern="https://api\\.openai\\.com", models=models)
    find_price_function.cache_clear()
    clear_adaptations()
    set_custom_snapshot(DataSnapshot([listed, own], from_auto_update=False))
    yield
    set_custom_snapshot(None)
    find_price_function.cache_clear()
    clear_adaptations()


K = 1_000
KINDS = [
    (Usage(K), 100), (Usage(0, K), 1_000),
    (Usage(K, cached_tokens=K), 10), (Usage(K, cached_tokens=400), 64),
    (Usage(K, cache_write_tokens=K), 125), (Usage(K, cache_write_tokens=K, cache_write_1h_tokens=K), 200),
    (Usage(K, cache_write_tokens=800, cache_write_1h_tokens=300), 20 + 62.5 + 60),
    (Usage(K, input_audio_tokens=K), 400), (Usage(0, K, output_audio_tokens=K), 4_000),
    (Usage(K, input_audio_tokens=K, cached_tokens=K), 40), (Usage(K, input_image_tokens=K), 300),
    (Usage(0, K, output_image_tokens=K), 3_000),
    (Usage(K, input_image_tokens=K, cached_tokens=K, cached_image_tokens=K), 30),
    (Usage(0, K, thinking_tokens=K), 1_000), (Usage(0, 0, web_searches=1), 1_000),
    (Usage(K, K, cached_tokens=10**12, thinking_tokens=10**12), 10 + 1_000),
    (Usage(K, 0, cached_tokens=10**12, cache_write_tokens=10**12), 10),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "thousandths"), KINDS, ids=str)
def test_every_kind_of_token_has_its_listed_price(usage: Usage, thousandths: float) -> None:
    cost_of = find_price_function("pricelab", "written" if usage.cache_write_tokens else "dear")
    assert cost_of is not None

    assert cost_of(usage) == pytest.approx(thousandths / 1_000)


GIVEN = Price(100, 1_000, cached=10, cache_write=125, input_audio=400, output_audio=4_000)


@pytest.mark.parametrize(
    ("usage", "thousandths"),
    [one for one in KINDS if not (one[0].input_image_tokens or one[0].output_image_tokens or one[0].web_searches)],
    ids=str,
)
def test_every_kind_of_token_has_its_given_price(usage: Usage, thousandths: float) -> None:
    if usage.cache_write_1h_tokens or (usage.input_audio_tokens and usage.cached_tokens):
        return  # these have no price of their own
    assert GIVEN.cost_of(usage) == pytest.approx(thousandths / 1_000)


def test_without_prices_of_their_own_all_tokens_of_the_input_cost_the_same() -> None:
    mixed = Usage(K, 0, cached_tokens=300, cache_write_tokens=300, input_audio_tokens=400)

    assert Price(100, 1).cost_of(mixed) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(K), 0.1),
        (Usage(K, model="dear"), 0.1),
        (Usage(K, model="dear-2026-09-01"), 0.1),
        (Usage(K, model="cheap"), 0.001),
        (Usage(K, model="never-heard-of"), None),
        (Usage(K, model="cheap").with_steps((Usage(K, model="dear"), Usage(K))), 0.001 + 0.1 + 0.1),
        (Usage(K).with_steps((Usage(K, model="never-heard-of"),)), None),
    ],
    ids=str,
)
def test_each_part_of_a_reply_has_the_price_of_its_model(usage: Usage, cost: float | None) -> None:
    assert find_reply_price("pricelab", "dear", is_strict=True)(usage) == (
        cost if cost is None else pytest.approx(cost)
    )


def test_a_model_of_unknown_price_that_answered_has_the_price_of_the_requested_one() -> None:
    usage = Usage(K, model="never-heard-of").with_steps((Usage(K, model="unknown-too"), Usage(K, model="cheap")))

    assert find_reply_price("pricelab", "dear")(usage) == pytest.approx(0.1 + 0.1 + 0.001)
    assert find_reply_price("pricelab", "unlisted")(usage) is None


@pytest.mark.parametrize(
    ("asked", "answered", "is_same"),
    [
        ("gpt-6.1-terra", "gpt-6.1-terra-2026-09-01", True), ("claude-opus-5", "claude-opus-5-20260301", True),
        ("mistral-large-latest", "mistral-large-2411", True), ("gemini-3-flash", "models/gemini-3-flash-001", True),
        ("openai/gpt-oss-120b:free", "openai/gpt-oss-120b", True), ("M", "m", True),
        ("gpt-5", "gpt-5-mini", False), ("claude-opus-5", "claude-opus-5-1", False), ("auto", "gpt-5", False),
    ],
)  # fmt: skip
def test_names_of_one_model_differ_from_those_of_others(asked: str, answered: str, is_same: bool) -> None:
    assert is_same_model(asked, answered) is is_same


def ask(*answers: str, model: str = "dear", plugins: Any = (), usage: dict[str, Any] | None = None) -> list[Turn]:
    """Ask a model at the host of a provider, and let other ones answer."""
    counts = usage or {"prompt_tokens": K, "completion_tokens": K}
    replies = [
        [head(), text("Well."), finish(), event({"choices": [], "usage": counts, "model": one}), DONE]
        for one in answers
    ]
    with serve_each(*replies) as server:
        chat = Chat(f"openai:{model}", base_url=server.url, api_key="k", wire="chat", plugins=list(plugins))
        return [chat.send("Hi") for _ in answers]


def test_a_notice_names_the_model_that_answered_once() -> None:
    first, second, third = ask("cheap", "cheap", "dear")

    said = [[event.text for event in turn.log if event.kind == "notice"] for turn in (first, second, third)]
    assert said == [["cheap answered, in place of dear."], [], []]
    assert [turn.usage.model for turn in (first, second, third)] == ["cheap", "cheap", "dear"]


def test_a_given_price_of_the_answering_model_precedes_that_of_the_requested_one() -> None:
    budget = Budget(usd=1_000, prices={"dear": Price(100, 1_000), "cheap": Price(1, 1)})
    first, second = ask("cheap", "dear", plugins=[budget])

    assert (first.cost, second.cost) == (pytest.approx(0.002), pytest.approx(1.1))
    assert budget.cost == pytest.approx(1.102)


@pytest.mark.parametrize(
    ("url", "usage", "cost"),
    [
        ("https://pricelab.example/v1", Usage(K), 0.1),
        ("https://pricelab.example/v1", Usage(K, cost=7.0), 0.1),
        ("https://openrouter.ai/api/v1", Usage(K, cost=7.0), 7.0),
        ("https://openrouter.ai/api/v1", Usage(K, cost=7.0, is_cost_estimated=True), None),
        ("https://elsewhere.example/v1", Usage(K, cost=7.0), ...),
        ("http://127.0.0.1:9/v1", Usage(K, cost=7.0), ...),
    ],
    ids=str,
)
def test_a_price_that_no_user_sets_is_that_of_the_host(url: str, usage: Usage, cost: Any) -> None:
    found = asyncio.run(find_listed_price(make_endpoint("openrouter:dear", base_url=url, api_key="k")))

    assert (found(usage) if found else ...) == (cost if cost in (None, ...) else pytest.approx(cost))


def test_the_endpoint_of_a_chat_has_the_listed_price_of_its_host() -> None:
    def endpoint(url: str) -> AdaptiveEndpoint:
        return AdaptiveEndpoint(make_endpoint("dear", base_url=url, api_key="k"), "fence")

    found = asyncio.run(endpoint("https://pricelab.example/v1").find_listed_price())
    unlisted = asyncio.run(endpoint("http://127.0.0.1:9/v1").find_listed_price())

    assert found is not None
    assert found(Usage(K)) == pytest.approx(0.1)
    assert unlisted is None
