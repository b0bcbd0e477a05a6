"""Budgets are at home, also where whole turns run on workers: all of them use one, and a person is asked there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest
from pydantic_core import to_json

from nbtool import Chat
from nbtool.chain.limits import Limits
from nbtool.chat.batch.remote.home_budgets import HomeBudgets, UsedTokens
from nbtool.chat.journal import journal
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage, LimitReached
from nbtool.messages import Usage
from nbtool.plugins.budget import Budget, Price
from nbtool.testing import call
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import ApprovalQueue, Approved, Decision, Denied, Question, Undecided
from tests.chaos import DONE, Received, Step, event, finish, head, serve_by, text
from tests.chat.batch.remote.far_tools import ask_for, prompt_of, result_in, same

Respond = Callable[[Received], Sequence[Step]]
PROMPTS = [f"p{n}" for n in range(12)]


def use_tokens(tokens: int) -> Respond:
    """Say the prompt, at the cost of so many tokens."""
    used = event({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 0}})

    def respond(request: Received) -> Sequence[Step]:
        return [head(), text(prompt_of(request)), finish(), used, DONE]

    return respond


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_all_workers_use_one_budget_and_the_rest_is_not_sent(pool: ProcessPoolExecutor) -> None:
    with serve_by(use_tokens(60)) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, on=pool, chunk=3, concurrency=2, tokens=200)
        sent = len(server.requests)

    answered = [one for one in batch.answers if one.error is None]
    assert 200 <= 60 * len(answered) < 200 + 2 * 60
    assert sent == len(answered)
    assert {type(one.error) for one in batch.errors} == {LimitReached}
    assert isinstance(batch.stop_reason, LimitReached)
    assert batch.usage.total_tokens == 60 * len(answered)


def test_prompts_that_a_worker_did_not_send_because_of_a_limit_count_as_unanswered(threads: Executor) -> None:
    with serve_by(use_tokens(60)) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, on=threads, concurrency=1, chunk=12, tokens=50)

    unsent = [one for one in batch.errors if batch.is_unsent(one)]
    assert (len(unsent), len(batch.errors)) == (11, 11)
    assert [one.error is batch.stop_reason for one in batch.errors[1:]] == [True] * 10


def test_a_budget_of_dollars_counts_by_the_prices_that_are_given(threads: Executor) -> None:
    with serve_by(use_tokens(1_000_000)) as server:
        chat = Chat("tiny", base_url=server.url)
        batch = chat.map(PROMPTS, on=threads, concurrency=1, usd=2.5, prices={"tiny": Price(1.0, 1.0)})

    assert sum(one.error is None for one in batch.answers) == 3
    assert batch.usage.cost == 3.0


def test_a_budget_of_the_chat_asks_at_home_and_goes_on(threads: Executor) -> None:
    asked: list[tuple[str, threading.Thread]] = []

    def approve(question: Question) -> Decision:
        asked.append((question.tool, threading.current_thread()))
        return Approved() if len(asked) == 1 else Denied("enough")

    with serve_by(use_tokens(60)) as server:
        budget = Budget(tokens=100)
        chat = Chat("tiny", base_url=server.url, plugins=[budget], approver=approve)
        batch = chat.map(PROMPTS[:6], on=threads, concurrency=1)

    assert sum(one.error is None for one in batch.answers) == 4  # two, and two once the same amount was approved
    assert budget.spent.total_tokens == 240
    assert asked == [("budget", threading.current_thread())] * 2
    last = batch.errors[0]
    assert [one["kind"] for one in journal().events(last.turn_id)].count("call_decided") == 1


def test_a_budget_holds_over_the_rounds_of_a_turn_and_its_own_limit_stops_no_other(threads: Executor) -> None:
    used = event({"choices": [], "usage": {"prompt_tokens": 60, "completion_tokens": 0}})

    def respond(request: Received) -> Sequence[Step]:
        if result_in(request) is not None:
            return use_tokens(60)(request)
        steps = list(ask_for(call("same", n=1)))
        return [*steps[:-1], used, steps[-1]]

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[same])
        own = chat.map(
            PROMPTS[:3], on=threads, concurrency=1, settings=TurnSettings(limits=Limits(tokens=50)), tokens=1_000
        )
        batch = chat.map(PROMPTS[:3], on=threads, concurrency=1, tokens=100, resume=False)

    assert own.stop_reason is None
    assert [type(one.error) for one in batch.errors] == [LimitReached, LimitReached]
    assert batch.answers[0].value == "p0"


def test_a_stop_withdraws_the_question_about_a_larger_budget(threads: Executor) -> None:
    asked = threading.Event()
    with serve_by(use_tokens(60)) as server:
        chat = Chat("tiny", base_url=server.url, plugins=[Budget(tokens=50)], approver=lambda _: Undecided())
        chat.approvals.add_listener(lambda _: asked.set())
        batch = chat.start_map(PROMPTS[:4], on=threads, concurrency=1)
        assert asked.wait(60)
        batch.cancel()
        batch.wait()

    assert chat.approvals.pending() == ()
    assert len(batch.errors) == 3


def test_an_unknown_price_is_an_error_before_anything_is_sent(threads: Executor) -> None:
    with serve_by(use_tokens(1)) as server, pytest.raises(BadUsage, match="price"):
        Chat("tiny", base_url=server.url).map(["a"], on=threads, usd=1.0)

    assert server.requests == []


def test_what_is_reserved_for_a_lost_turn_is_released() -> None:
    budget = Budget(tokens=10_000)
    home = HomeBudgets([budget], ApprovalQueue(), None)
    request = '{"size": 3000, "model": "tiny"}'

    async def emit(_: Any) -> None:
        """Drop an event."""

    async def run() -> None:
        assert await home.may_send("t1", request, emit) is None
        assert budget.room[0] == 10_000 - 2_000
        await home.count("t1", to_json(UsedTokens([Usage(50, 50)])).decode())
        await home.count("t1", "nothing")
        assert budget.room[0] == 9_900
        assert await home.may_send("t1", request, emit) is None
        await home.end("t1")
        await home.end("t1")
        assert budget.room[0] == 9_900
        assert await home.may_send("t2", "no request", emit) is not None

    run_sync(run())
