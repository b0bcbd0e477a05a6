"""Limits of requests hold for all workers together: home says when each of them sends one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_core import to_json

from nbtool import Chat
from nbtool.chat.batch.rate_limiter import RateLimiter
from nbtool.chat.batch.remote.shared_rates import HomeRates, WaitingRequest
from nbtool.chat.batch.remote.worker_message import NO
from nbtool.chat.batch.shared_backoff import SharedBackoff
from tests.chat.batch.sleeping_clock import SleepingClock
from tests.chat.batch.test_rate_limits import CONCURRENCY, Quota
from tests.contract.dialects import Answer
from tests.contract.simulator import Provider, simulate


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SleepingClock:
    """The clock of home, by which all delays are."""
    clock = SleepingClock()

    make = SharedBackoff.__init__

    def make_of_clock(self: SharedBackoff, *limits: float | None, limiter: RateLimiter | None = None) -> None:
        own = RateLimiter(limiter.host, limiter.model, clock) if limiter else None
        make(self, *limits, limiter=own, clock=clock, sleep=clock.sleep)

    monkeypatch.setattr(SharedBackoff, "__init__", make_of_clock)
    return clock


@pytest.fixture
def model() -> Iterator[Provider]:
    with simulate() as provider:
        yield provider


@pytest.fixture(params=["pool", "client"])
def on(request: pytest.FixtureRequest) -> Any:
    """Processes of this machine, or of a cluster of Dask."""
    return request.getfixturevalue(request.param)


def chat_of(model: Provider) -> Chat:
    return Chat("tiny", wire="chat", base_url=model.url, api_key="key")


PROMPTS = [f"prompt {number}" for number in range(60)]


@pytest.mark.parametrize("quota", [(20, 1_000_000), (1_000_000, 1_500)], ids=["requests", "tokens"])
def test_workers_send_hardly_any_request_that_the_provider_refuses_after_the_first_answers(
    on: Any, clock: SleepingClock, model: Provider, quota: tuple[int, int]
) -> None:
    limits = Quota(clock, *quota)
    model.always(limits.answer)
    batch = chat_of(model).map(PROMPTS, on=on, send_key=True, concurrency=CONCURRENCY)

    assert batch.errors == []
    later = [number for number in limits.refused if number >= CONCURRENCY]
    assert len(later) <= len(PROMPTS) // 20  # answers of two workers may arrive in another order than they were given
    assert clock.now > 1_060  # else no limit was reached


def test_all_workers_together_send_so_many_requests_a_minute(on: Any, clock: SleepingClock, model: Provider) -> None:
    times: list[float] = []

    def answer(_: Any) -> Answer:
        times.append(clock.now)
        return Answer("yes")

    model.always(answer)
    batch = chat_of(model).map(PROMPTS[:12], on=on, send_key=True, per_minute=30, chunk=1)

    assert batch.errors == []
    assert max(sum(begin <= at < begin + 60 for at in times) for begin in times) <= 31  # a request takes a moment
    assert clock.now >= 1_000 + 11 * 2


@pytest.mark.parametrize("steps", [0, 1])
def test_a_wait_that_is_cancelled_before_it_begins_is_answered(steps: int) -> None:
    replies: list[str] = []
    asked = to_json(WaitingRequest(60.0, "api.example.org", "tiny")).decode()

    async def give_up() -> None:
        rates = HomeRates(SharedBackoff())
        rates.ask("run", asked, replies.append)
        for _ in range(steps):
            await asyncio.sleep(0)
        rates.end("run")
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
        await asyncio.sleep(0)  # the callbacks of what has ended

    asyncio.run(give_up())

    assert replies == [NO]
