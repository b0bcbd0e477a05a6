"""Lines of a batch: their ids, how many one batch takes, and the budget."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.provider.line_collector import LineBudget, LineCollector, Row
from nbtool.errors import BadUsage, LimitReached, NbtoolError
from nbtool.threads.caller_thread import CallerThread
from nbtool.wire.base import Request
from nbtool.wire.batches.openai import OpenAiBatches
from nbtool.wire.endpoints.model_endpoint import make_endpoint

API = OpenAiBatches(make_endpoint("openai:gpt-5-mini", api_key="sk-of-a-test", wire="chat"))


def collect(texts: list[str], api: Any = API, *budgets: LineBudget, date: str = "2026-11-28") -> Any:
    """Return the parts of the rows of some prompts, and the answers of those that were not sent."""
    answers: list[Answer] = []
    reasons: list[NbtoolError] = []
    port = AnswerPort(answers.append, lambda: reasons[0] if reasons else None, reasons.append, CallerThread())

    async def capture(one: PromptItem, _: str) -> Request:
        if one.prompt == "blocked":
            raise BadUsage("A plugin blocked it.")
        text = f"{one.prompt}\n\n<date>Today is {date} (UTC).</date>"
        return Request("/chat/completions", {"messages": [{"role": "user", "content": text}]}, stream=False)

    async def run() -> list[list[Row]]:
        prompts = [(PromptItem(number, number, text), f"key {number}") for number, text in enumerate(texts)]
        return [part async for part in LineCollector(api, capture, budgets).parts(prompts, port)]

    return asyncio.run(run()), answers


def ids(parts: list[list[Row]]) -> list[str]:
    return [row.line.line_id for part in parts for row in part]


def test_equal_requests_have_ids_of_their_own_and_the_same_ones_on_another_day() -> None:
    first, _ = collect(["a", "b", "a"])
    second, _ = collect(["b", "a", "a"], date="2026-12-01")

    assert len(set(ids(first))) == 3
    assert sorted(ids(first)) == sorted(ids(second))
    assert max(map(len, ids(first))) <= 64


@pytest.mark.parametrize("limits", [{"max_lines": 2}, {"max_bytes": 500}])
def test_more_than_one_batch_takes_is_divided(limits: dict[str, int]) -> None:
    parts, _ = collect(["a", "b", "c", "d", "e"], replace(API, **limits))

    assert [len(part) for part in parts] == [2, 2, 1]


def test_a_prompt_that_a_plugin_blocks_is_an_error_of_its_own() -> None:
    parts, answers = collect(["a", "blocked", "c"])

    assert [len(part) for part in parts] == [2]
    assert [(answer.index, type(answer.error)) for answer in answers] == [(1, BadUsage)]


@pytest.mark.parametrize(
    "budget",
    [LineBudget("A", tokens=2_500), LineBudget("A", usd=2.5, cost_of=lambda usage: usage.total_tokens / 1_000)],
    ids=["tokens", "dollars"],
)
def test_what_the_budget_has_no_room_for_is_not_sent(budget: LineBudget) -> None:
    parts, answers = collect(["a", "b", "c", "d"], API, budget)

    assert [len(part) for part in parts] == [2]
    assert [answer.index for answer in answers] == [2, 3]
    assert all(isinstance(answer.error, LimitReached) for answer in answers)


def test_the_strictest_of_several_budgets_counts() -> None:
    parts, _ = collect(["a", "b", "c", "d"], API, LineBudget("A", tokens=9_000), LineBudget("B", tokens=1_500))

    assert [len(part) for part in parts] == [1]
