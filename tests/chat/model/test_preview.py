"""A request that is shown and not sent is built, and refused, as the one that would be sent."""

from __future__ import annotations

import pytest

from nbtool import Chat
from nbtool.chain.hooks import RequestContext
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.chat.model.preview import PreviewEndpoint
from nbtool.plugins import Budget, Price


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")


def test_a_budget_of_the_chat_is_checked_with_the_price_of_the_model_and_counts_nothing() -> None:
    budget = Budget(usd=1)

    request = Chat("openai:gpt-5-mini", plugins=[budget]).rehearse("Hello")

    assert request.path
    assert (budget.cost, budget.spent.total_tokens) == (0, 0)


def test_a_price_that_was_passed_counts_for_a_model_of_unknown_price() -> None:
    budget = Budget(usd=1, prices={"openai:ours": Price(input=1, output=2)})

    assert Chat("openai:ours", plugins=[budget]).rehearse("Hello").path
    assert Chat("openai:ours", plugins=[budget]).rehearse(
        "Hello", settings=TurnSettings(limits=Limits(cost=1))
    ).path  # fmt: skip


def test_plugins_see_the_provider_and_the_abilities_of_the_model() -> None:
    seen: list[tuple[str, str, bool]] = []

    class Watching:
        def on_before_request(self, request: RequestContext) -> None:
            turn = request.turn
            seen.append((turn.provider, turn.model, bool(turn.abilities)))

    Chat("openai:gpt-5-mini", plugins=[Watching()]).rehearse("Hello")

    assert seen == [("openai", "gpt-5-mini", True)]


def test_what_a_preview_does_not_replace_is_that_of_the_endpoint() -> None:
    endpoint = Chat("openai:gpt-5-mini").model.endpoint()
    preview = PreviewEndpoint(endpoint)  # type: ignore[arg-type]  # it can preview

    names = [name for name in dir(endpoint) if not name.startswith("_") and name not in ("stream", "request")]
    assert [name for name in names if getattr(preview, name) != getattr(endpoint, name)] == []
