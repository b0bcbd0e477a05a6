"""Requests and tokens a minute, as a provider reports them: no request is refused, and hardly any time is lost.

The provider counts by the clock of the test, which passes only while a map waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.batch.prompts import parse_prompts
from nbtool.chat.batch.rate_limiter import MAX_CONNECTIONS, Cost, RateLimiter, limiter_of
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch_maker import BatchMaker
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.framing.rate_limits import RateLimit
from tests.chat.batch.sleeping_clock import SleepingClock
from tests.contract.dialects import Answer, encode
from tests.contract.simulator import Body, Provider, Refusal, Request, simulate

CONCURRENCY = 8
OUTPUT = 60
MINUTES = 10
"""About as many minutes the requests of a test take."""


@dataclass
class Quota:
    """Requests and tokens that a provider allows: filled continuously, or whole again at the end of each `window`."""

    clock: SleepingClock
    requests: float
    tokens: float
    dialect: str = "chat"
    window: float = 0.0
    served: int = 0
    used: float = 0.0
    full: list[dict[str, float]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    _left: dict[str, float] = field(default_factory=dict)
    _at: float = 0.0
    _lock: Any = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Body | Refusal:
        """Answer a request, or refuse it where a limit is reached."""
        cost = {"requests": 1.0, "tokens": len(request.text) // 4 + OUTPUT}
        with self._lock:
            self._fill()
            number = self.served + len(self.refused)
            if any(self._left[unit] < amount for unit, amount in cost.items()):
                self.refused.append(number)
                return Refusal(429, "Rate limit reached.", self._headers())
            self.served += 1
            self.used += cost["tokens"]
            for unit, amount in cost.items():
                self._left[unit] -= amount
            headers = self._headers()
        answer = Answer("yes", input_tokens=int(cost["tokens"]) - OUTPUT, output_tokens=OUTPUT)
        return Body(b"".join(encode(self.dialect, answer, is_stream=True)), headers=headers)

    def rates(self, seconds: float) -> list[float]:
        """Return how much of each limit was used, of 1: in the windows that are over, or in all of the time."""
        if self.window:
            return [sum(one[unit] for one in self.full) / len(self.full) for unit in self._limits()]
        allowed = 1 + seconds / 60
        return [self.served / (self.requests * allowed), self.used / (self.tokens * allowed)]

    def _limits(self) -> dict[str, float]:
        return {"requests": self.requests, "tokens": self.tokens}

    def _fill(self) -> None:
        now = self.clock.now
        if not self._left:
            self._left, self._at = self._limits(), now
        elif self.window:
            if now - self._at >= self.window:
                self.full.append({unit: 1 - self._left[unit] / limit for unit, limit in self._limits().items()})
                self._left, self._at = self._limits(), now - (now - self._at) % self.window
        else:
            for unit, limit in self._limits().items():
                self._left[unit] = min(limit, self._left[unit] + limit * (now - self._at) / 60)
            self._at = now

    def _headers(self) -> dict[str, str]:
        found = {}
        for unit, limit in self._limits().items():
            left = self._left[unit]
            whole = self._at + self.window - self.clock.now if self.window else (limit - left) * 60 / limit
            values = {"limit": f"{limit:g}", "remaining": str(int(left)), "reset": f"{whole:.3f}s"}
            for name, value in values.items():
                found[f"x-ratelimit-{name}-{unit}"] = value
        return found


@pytest.fixture
def model() -> Iterator[Provider]:
    with simulate() as provider:
        yield provider


def run(model: Provider, quota: Quota, prompts: list[str]) -> float:
    """Send the prompts of a map, and return the seconds that have passed."""
    model.always(quota.answer)
    chat = Chat("tiny", wire=quota.dialect, base_url=model.url, api_key="key")
    limiter = RateLimiter(f"127.0.0.1:{model.port}", "tiny", quota.clock)
    backoff = SharedBackoff(limiter=limiter, clock=quota.clock, sleep=quota.clock.sleep)
    maker = BatchMaker(chat, backoff=backoff, concurrency=CONCURRENCY, progress=False, resume=False)
    began = quota.clock.now
    batch = maker.batch(parse_prompts(prompts)).wait()
    assert batch.errors == []
    return quota.clock.now - began


QUOTAS = {
    "requests": (60, 1_000_000),
    "tokens": (10_000, 6_000),
    "both": (60, 7_000),
    "few requests": (20, 1_000_000),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("requests", "tokens"), QUOTAS.values(), ids=QUOTAS)
@pytest.mark.parametrize("window", [0.0, 60.0], ids=["filled continuously", "in windows"])
def test_no_request_is_refused_after_the_first_answers_and_the_rate_is_used(
    model: Provider, requests: float, tokens: float, window: float
) -> None:
    quota = Quota(SleepingClock(), requests, tokens, window=window)
    count = MINUTES * int(min(requests, tokens / 120))
    prompts = [f"prompt {number}: {'word ' * (20 + number % 40)}" for number in range(count)]

    seconds = run(model, quota, prompts)

    rates = quota.rates(seconds)
    assert [number for number in quota.refused if number >= CONCURRENCY] == []
    assert max(rates) >= 0.85  # of few requests in a window, 0.86 to 0.9 were measured


def test_two_maps_of_one_connection_share_its_limits() -> None:
    one = make_endpoint("tiny", base_url="http://127.0.0.1:1/v1", api_key="a", wire="chat")
    other = make_endpoint("tiny", base_url="http://127.0.0.1:1/v1", api_key="b", wire="chat")

    assert limiter_of(one) is limiter_of(make_endpoint("tiny", base_url=one.base_url, api_key="a", wire="chat"))
    assert limiter_of(one) is not limiter_of(other)


def test_the_limits_of_few_connections_are_held() -> None:
    first = make_endpoint("first", base_url="http://127.0.0.1:1/v1", api_key="a", wire="chat")
    limiter = limiter_of(first)
    for number in range(MAX_CONNECTIONS):
        limiter_of(make_endpoint(f"m{number}", base_url=first.base_url, api_key="a", wire="chat"))

    assert limiter_of(first) is not limiter


def test_answers_without_headers_and_requests_without_answers_change_nothing_for_long() -> None:
    clock = SleepingClock()
    limiter = RateLimiter(clock=clock)
    number = limiter.admit(Cost())
    limiter.report(number, {"requests": RateLimit(2, 0, 30.0)})
    assert 10 < limiter.delay(Cost()) < 31
    for _ in range(10):
        limiter.release(limiter.admit(Cost()))

    clock.now += limiter.delay(Cost())

    assert limiter.delay(Cost()) == 0
    assert clock.now <= 1_000 + 31 + 10 * 30


def test_a_request_beyond_the_limit_is_sent_when_that_is_whole() -> None:
    clock = SleepingClock()
    limiter = RateLimiter(clock=clock)
    limiter.report(limiter.admit(Cost()), {"tokens": RateLimit(100, 50, 30.0)})

    assert limiter.delay(Cost(500, 500)) == pytest.approx(30.0, abs=0.1)


def test_the_answer_to_an_earlier_request_counts_only_if_less_is_left() -> None:
    limiter = RateLimiter(clock=SleepingClock())
    first, second = limiter.admit(Cost()), limiter.admit(Cost())
    limiter.report(second, {"requests": RateLimit(10, 5, 30.0)})
    limiter.report(first, {"requests": RateLimit(10, 6, 30.0)})
    assert limiter.delay(Cost()) == 0

    limiter.report(first, {"requests": RateLimit(10, 0, 30.0)})
    assert limiter.delay(Cost()) > 0
